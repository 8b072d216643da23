// buffer/sent_images.cpp: images of bytes of the host's copy, which are sent in their place.
#include "buffer/sent_images.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "buffer/core.hpp"
#include "memory/moves.hpp"
#include "tracking/host_writes.hpp"

namespace unibuf::detail {
namespace {

bool is_taken(const fence& by) noexcept {
    try {
        return by.done();
    } catch (const std::exception&) {  // it has failed: nobody reads any more
        return true;
    }
}

/// Cuts `range` into what is sent from images, which take(byte_range) takes, and what is not.
template <class Take>
void cut(promise& in, byte_range range, const byte_ranges& imaged, part_list& others, const Take& take) {
    byte_ranges rest = range;
    rest.take_out(imaged);
    for (const byte_range& each : rest) {
        in.divide(region(each));
        others.push_back(each);
    }
    for (const byte_range& each : imaged) {
        in.divide(region(each));
        take(each);
    }
}

void take_digested(guarded& state, promise& in, coherence::space_id device, part_list& parts, image_list& to) {
    host_writes& writes = *state.writes();
    part_list others;
    for (const region& part : parts) {
        const byte_ranges blocks = writes.digested(part, device);
        if (blocks.empty()) {
            others.push_back(part);
            continue;
        }
        cut(in, part.hull(), blocks, others,
            [&](byte_range each) { to.push_back(state.with_seldom_used().sent.take_digested(writes, each)); });
    }
    parts.clear();
    parts.append(others);
}

}  // namespace

void take_images(guarded& state, promise& in, coherence::space_id device, part_list& parts, image_list& to) {
    if (!state.writes()) return;
    host_writes& writes = *state.writes();
    if (writes.compares_by_digest()) return take_digested(state, in, device, parts, to);
    if (!state.any_exposed) return;
    const auto has_image = [&](const region& part) { return writes.has_image(part.hull()); };
    if (std::ranges::none_of(parts, has_image)) return;
    part_list others;
    for (const region& part : parts) {
        if (!has_image(part)) {
            others.push_back(part);
        } else if (part.hull().size() <= sent_images::most_in_one) {
            to.push_back(state.with_seldom_used().sent.take(writes, part));
        } else if (part.is_range()) {
            cut(in, part.hull(), writes.imaged(part.hull()), others,
                [&](byte_range each) { to.push_back(state.with_seldom_used().sent.take(writes, each)); });
        } else {
            send_as_it_is(state, part);
            others.push_back(part);
        }
    }
    parts.clear();
    parts.append(others);
}

void send_as_it_is(guarded& state, const region& part) {
    host_writes& writes = *state.writes();
    byte_ranges sent_again;
    for (const byte_range& each : writes.imaged(part.hull())) {
        part.for_each_common(each, [&](const region& common) { sent_again.add(runs_of(common)); });
    }
    writes.send_as_it_is(sent_again);
}

std::vector<backends::move_of> moves_of(const part_list& parts, const image_list& images, backends::memory& host,
                                        backends::memory& to) {
    std::vector<backends::move_of> result;
    if (!std::ranges::all_of(parts, &region::is_range)) return result;
    result.reserve(parts.size());
    const std::size_t as_they_are = parts.size() - images.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const byte_range range = parts[i].hull();
        const std::byte* const from =
            i < as_they_are ? host.host_address() + range.begin : images[i - as_they_are].bytes();
        result.push_back({&to, range.begin, {const_cast<std::byte*>(from), range.size()}});  // is only read
    }
    return result;
}

sent_images::sending sent_images::take(const host_writes& from, const region& part) {
    const byte_range hull = part.hull();
    std::shared_ptr<const std::byte> compared_with = from.image(hull);
    image& result = unused(compared_with ? 0 : hull.size());
    if (!compared_with) from.copy_as_sent(hull, result.copy.get());
    result.compared_with = std::move(compared_with);
    result.part = part;
    result.in_use = true;
    result.digested = false;
    return sending(result);
}

sent_images::sending sent_images::take_digested(host_writes& from, byte_range blocks) {
    image& result = unused(blocks.size());
    result.compared_with = nullptr;
    result.digested = from.copy_with_digests(blocks, result.copy.get());
    result.part = blocks;
    result.in_use = true;
    return sending(result);
}

void sent_images::forget_taken() noexcept {
    std::erase_if(all_, [](const image& each) { return !each.in_use && is_taken(each.taken); });
}

/// Returns the first image that is taken already and has room, as the last one; others that are taken go. What was sent
/// later is not asked for, as it is hardly ever taken before.
sent_images::image& sent_images::unused(std::size_t bytes) {
    auto found = all_.end();
    while (!all_.empty() && found != all_.begin()) {
        image& oldest = all_.front();
        if (oldest.in_use || !is_taken(oldest.taken)) break;
        if (found == all_.end() && oldest.room >= bytes) {
            found = all_.begin();
            all_.splice(all_.end(), all_, found);
        } else {
            all_.pop_front();
        }
    }
    if (found != all_.end()) return *found;
    image made;
    made.room = bytes;
    if (bytes != 0) made.copy = std::make_unique_for_overwrite<std::byte[]>(bytes);
    return all_.emplace_back(std::move(made));
}

void sent_images::wait() noexcept {
    for (const image& each : all_) {
        try {
            each.taken.wait();
        } catch (const std::exception&) {  // nobody reads any more
        }
    }
}

sent_images::sending::~sending() {
    if (!image_) return;
    image_->in_use = false;
    if (!image_->taken.native()) image_->compared_with.reset();
}

sent_images::sending& sent_images::sending::operator=(sending&& other) noexcept {
    std::swap(image_, other.image_);
    return *this;
}

const region& sent_images::sending::part() const noexcept { return image_->part; }
const std::byte* sent_images::sending::bytes() const noexcept { return image_->bytes(); }
bool sent_images::sending::digested() const noexcept { return image_->digested; }
void sent_images::sending::is_taken_by(const fence& done) noexcept { image_->taken = done; }

fence sent_images::sending::send(backends::memory& to, queue on) const {
    const byte_range hull = part().hull();
    const box* const rows = part().as_box();
    if (!rows) return to.write(hull.begin, {bytes(), hull.size()}, on);
    backends::rectangle_copy in_image = in_place(*rows);
    in_image.there.offset -= hull.begin;
    return to.write_rectangle(in_image, bytes(), on);
}

}  // namespace unibuf::detail
