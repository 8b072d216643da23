// buffer/copies.cpp
#include "buffer/copies.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "backends/spaces.hpp"
#include "buffer/placement_policy.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

using coherence::space_id;

backends::device& device_at(space_id where) noexcept { return backends::device_of(space::from_id(where)); }

bool is_host(const copy& each) noexcept {
    return each.where == coherence::host || each.where == backends::host_as_device.id();
}

}  // namespace

std::byte* copy::address() const noexcept {
    return is_host(*this) || placed == placement::mirrored ? memory->host_address() : nullptr;
}

std::uintptr_t copy::handle() const noexcept {
    return is_host(*this) ? reinterpret_cast<std::uintptr_t>(memory->host_address()) : memory->handle();
}

copies::copies(std::size_t bytes, const buffer_options& options) noexcept : bytes_(bytes), options_(options) {}

copy* copies::find(space_id where) noexcept {
    const auto found = std::ranges::find(all_, where, &copy::where);
    return found == all_.end() ? nullptr : &*found;
}

const copy* copies::find(space_id where) const noexcept { return const_cast<copies*>(this)->find(where); }

/// What is made for one access, on top of what is there.
class copies::maker {
public:
    explicit maker(const copies& there) : there_(there) {}

    std::vector<copy> take() && { return std::move(made_); }

    const copy& make(space_id where) {
        if (const copy* const found = find(where)) return *found;
        return where == coherence::host ? make_host() : make_device(where);
    }

private:
    const copy* find(space_id where) const noexcept {
        const auto found = std::ranges::find(made_, where, &copy::where);
        return found == made_.end() ? there_.find(where) : &*found;
    }

    /// The host's copy. Where the device that the buffer is for shares only memory of its own, it is taken from there.
    const copy& make_host() {
        copy made;
        made.reason = "the host's own memory";
        const std::optional<space> named = there_.options_.device;
        const space_id meant = named ? named->id() : backends::current_device().id();
        backends::device& device = device_at(meant);
        const bool lends = device.about().host_visible && !device.about().aliases_host;
        if (lends && choose_placement(there_.options_.hint, device.about()).wanted == placement::shared) {
            try {
                return lend(device, meant);
            } catch (const error& failure) {
                made.reason = space::from_id(meant).name() + " could not lend memory: " + failure.what();
            }
        }
        made.memory = device_at(coherence::host).allocate(there_.wanted());
        made.held = trace::held_bytes(host, there_.bytes_);
        return add(std::move(made));
    }

    const copy& lend(backends::device& device, space_id where) {
        copy lent;
        lent.memory = device.allocate_visible(there_.wanted());
        lent.lender = where;
        lent.held = trace::held_bytes(space::from_id(where), there_.bytes_);
        lent.reason = "lent by " + space::from_id(where).name();
        return add(std::move(lent));
    }

    const copy& make_device(space_id where) {
        backends::device& device = device_at(where);
        copy made;
        made.where = where;
        if (where == backends::host_as_device.id()) {
            made.placed = placement::shared;
            made.reason = "the default device is the host";
            made.memory = make(coherence::host).memory;
            return add(std::move(made));
        }
        const placement_choice choice = choose_placement(there_.options_.hint, device.about());
        made.reason = choice.reason;
        if (choice.wanted == placement::shared && try_share(made, device)) {
            made.placed = placement::shared;
        } else {
            made.memory = device.allocate(there_.wanted());
            made.held = trace::held_bytes(space::from_id(where), there_.bytes_);
        }
        return add(std::move(made));
    }

    /// Lets the device use the host's copy. False, with the reason in `made`, where it cannot.
    bool try_share(copy& made, backends::device& device) {
        try {
            if (device.about().aliases_host) {
                std::byte* const address = make(coherence::host).memory->host_address();
                made.memory = device.alias({address, there_.wanted().bytes}, there_.wanted());
                return true;
            }
            const copy* const on_host = find(coherence::host);
            if (!on_host && device.about().host_visible) {
                made.memory = lend(device, made.where).memory;
                return true;
            }
            if (on_host && on_host->lender == made.where) {
                made.memory = on_host->memory;
                return true;
            }
            made.reason += device.about().host_visible
                               ? ", but it shares only memory that it has allocated, and the host's copy was there "
                                 "first: name the device in buffer_options::device"
                               : ", but the device cannot share memory";
        } catch (const error& failure) {
            made.reason += std::string(", but ") + failure.what();
        }
        return false;
    }

    const copy& add(copy made) { return made_.emplace_back(std::move(made)); }

    const copies& there_;
    std::vector<copy> made_;
};

std::vector<copy> copies::prepare(space_id where) const {
    maker made(*this);
    made.make(where);
    return std::move(made).take();
}

void copies::add(std::vector<copy> made) noexcept {
    for (copy& each : made) {
        if (each.placed == placement::shared) memories_.share(each.where, coherence::host);
        any_poisons_ |= device_at(each.where).about().poisons_stale;
        all_.push_back(std::move(each));
    }
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
