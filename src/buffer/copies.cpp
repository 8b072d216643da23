// buffer/copies.cpp
#include "buffer/copies.hpp"

#include <algorithm>

#include "backends/spaces.hpp"
#include "buffer/placement_policy.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

using coherence::space_id;

backends::device& device_at(space_id where) noexcept { return backends::device_of(space::from_id(where)); }

}  // namespace

copies::copies(std::size_t bytes, const buffer_options& options) noexcept : bytes_(bytes), options_(options) {}

copy* copies::find(space_id where) noexcept {
    const auto found = std::ranges::find(all_, where, &copy::where);
    return found == all_.end() ? nullptr : &*found;
}

const copy* copies::find(space_id where) const noexcept { return const_cast<copies*>(this)->find(where); }

copy& copies::make(space_id where) {
    if (copy* const there = find(where)) return *there;
    return where == coherence::host ? make_host() : make_device(where);
}

/// The host's copy. Where the device that the buffer is for shares only memory of its own, it is taken from there.
copy& copies::make_host() {
    copy made;
    made.reason = "the host's own memory";
    const space_id meant = options_.device ? options_.device->id() : backends::current_device().id();
    backends::device& device = device_at(meant);
    const bool lends = device.about().host_visible && !device.about().aliases_host;
    if (lends && choose_placement(options_.hint, device.about()).wanted == placement::shared) {
        try {
            made.memory = device.allocate_visible(wanted());
            made.lender = meant;
            made.held = trace::held_bytes(space::from_id(meant), bytes_);
            made.reason = "lent by " + space::from_id(meant).name();
        } catch (const error& failure) {
            made.reason = space::from_id(meant).name() + " could not lend memory: " + failure.what();
        }
    }
    if (!made.memory) {
        made.memory = device_at(coherence::host).allocate(wanted());
        made.held = trace::held_bytes(host, bytes_);
    }
    return add(std::move(made));
}

copy& copies::make_device(space_id where) {
    backends::device& device = device_at(where);
    const backends::request what = wanted();
    copy made;
    made.where = where;
    if (where == backends::host_as_device.id()) {
        made.placed = placement::shared;
        made.reason = "the default device is the host";
        made.memory = make(coherence::host).memory;
    } else {
        const placement_choice choice = choose_placement(options_.hint, device.about());
        made.reason = choice.reason;
        if (choice.wanted == placement::shared && try_share(made, device, what)) made.placed = placement::shared;
    }
    if (made.placed == placement::shared) {
        memories_.share(where, coherence::host);
    } else {
        made.memory = device.allocate(what);
        made.held = trace::held_bytes(space::from_id(where), bytes_);
        any_poisons_ |= device.about().poisons_stale;
    }
    return add(std::move(made));
}

/// Lets the device use the host's copy. False, with the reason in `made`, where it cannot.
bool copies::try_share(copy& made, backends::device& device, const backends::request& what) {
    try {
        if (device.about().aliases_host) {
            made.memory = device.alias({make(coherence::host).memory->host_address(), what.bytes}, what);
            return true;
        }
        const copy* const there = find(coherence::host);
        if (!there && device.about().host_visible) {
            copy lent;
            lent.memory = device.allocate_visible(what);
            lent.lender = made.where;
            lent.held = trace::held_bytes(space::from_id(made.where), bytes_);
            lent.reason = "lent by " + space::from_id(made.where).name();
            made.memory = add(std::move(lent)).memory;
            return true;
        }
        if (there && there->lender == made.where) {
            made.memory = there->memory;
            return true;
        }
        made.reason += device.about().host_visible
                           ? ", but it shares only memory that it has allocated, and the host's copy was there first: "
                             "name the device in buffer_options::device"
                           : ", but the device cannot share memory";
    } catch (const error& failure) {
        made.reason += std::string(", but ") + failure.what();
    }
    return false;
}

copy& copies::add(copy made) {
    all_.push_back(std::move(made));
    return all_.back();
}

void copies::free(space_id where) noexcept {
    if (where == coherence::host) {
        for (const copy& each : all_) {
            if (each.placed == placement::shared) return;
        }
    }
    memories_.separate(where);
    std::erase_if(all_, [&](const copy& each) { return each.where == where; });
}

void copies::free_all() noexcept {
    std::erase_if(all_, [](const copy& each) { return each.placed == placement::shared; });
    all_.clear();
}

coherence::space_set copies::allocated() const noexcept {
    coherence::space_set result = 0;
    for (const copy& each : all_) result |= coherence::set_of(each.where);
    return result;
}

backends::request copies::wanted() const noexcept {
    return {.bytes = std::max<std::size_t>(bytes_, 1), .access = options_.access, .hint = options_.hint};
}

}  // namespace unibuf::detail
