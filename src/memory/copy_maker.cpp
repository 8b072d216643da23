// memory/copy_maker.cpp: how a space comes by its copy: memory of its own, the host's, that of another device, or what
// a device lends to the host.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "backends/host/pinned_memory.hpp"
#include "backends/spaces.hpp"
#include "memory/copies.hpp"
#include "memory/limits.hpp"
#include "memory/placement_policy.hpp"
#include "unibuf/error.hpp"

namespace unibuf::detail {
namespace {

using coherence::space_id;

/// Returns whether the device shares memory that it has allocated, even where it could use the host's.
bool lends(const backends::traits& device, memory_hint hint) noexcept {
    return device.host_visible && (!device.aliases_host || (device.write_combines && hint == memory_hint::streaming));
}

}  // namespace

/// Makes the copies for one access, beside those that are there.
class copies::maker {
public:
    /// Makes no more than `most` copies.
    maker(const copies& all, std::size_t most, const resident& asking, const wait_limit& limit)
        : copies_(all), asking_(asking), limit_(limit), room_(most) {}
    ~maker() { copies_.uncount(made_); }
    maker(const maker&) = delete;
    maker& operator=(const maker&) = delete;

    copy_list take() && { return std::exchange(made_, {}); }

    /// Makes a copy for the host in memory of its own, though it has one that a device has lent.
    const copy& make_own_host() { return allocate_host(false); }

    const copy& make(space_id where) {
        if (const copy* const found = find(where)) return *found;
        return where == coherence::host ? make_host() : make_device(where);
    }

private:
    const copy* find(space_id where) const noexcept {
        const auto found = std::ranges::find(made_.copies, where, &copy::where);
        return found == made_.copies.end() ? copies_.find(where) : &*found;
    }

    /// Makes the host's copy. Its memory comes from the device that the buffer is for, where that shares only memory of
    /// its own.
    const copy& make_host() {
        const buffer_options& options = copies_.options_;
        const space_id meant = copies_.meant().id();
        backends::device& device = backends::device_of(space::from_id(meant));
        const bool shared = choose_placement(options.hint, device.about()).wanted == placement::shared;
        if (shared && lends(device.about(), options.hint)) {
            try {
                return lend(device, meant);
            } catch (const error& failure) {
                say(coherence::host, "sharing failed", failure);
            }
        }
        const bool in_place = shared && device.about().aliases_host;
        return allocate_host(in_place && !device.about().aliases_lines, in_place && device.about().aliases_lines);
    }

    const copy& allocate_host(bool whole_pages, bool staggered = false) {
        const buffer_options& options = copies_.options_;
        backends::allocation_request wanted = copies_.wanted();
        wanted.whole_pages = whole_pages;
        wanted.staggered = staggered;
        auto own = allocate(coherence::host, [&] {
            if (options.pinned) {
                try {
                    return backends::allocate_pinned(copies_.meant(), wanted.bytes);
                } catch (const error& failure) {
                    if (failure.code() != error_code::unsupported) throw;
                    say(coherence::host, "not pinned", failure);
                }
            }
            return backends::device_of(host).allocate(wanted);
        });
        return add({}, std::move(own));
    }

    const copy& lend(backends::device& device, space_id where) {
        copy lent;
        lent.lender = where;
        auto own = allocate(where, [&] { return device.allocate_visible(copies_.wanted()); });
        return add(std::move(lent), std::move(own));
    }

    const copy& make_device(space_id where) {
        backends::device& device = backends::device_of(space::from_id(where));
        copy made;
        made.where = where;
        if (where == host_as_device.id()) return use(where, *make(coherence::host).memory);
        if (choose_placement(copies_.options_.hint, device.about()).wanted == placement::shared) {
            try {
                return share(where, device);
            } catch (const error& failure) {
                say(made.where, "sharing failed", failure);
            }
        }
        if (auto borrowed = borrow(made, device)) return add(std::move(made), std::move(borrowed));
        auto own = allocate(where, [&] { return device.allocate(copies_.wanted()); });
        return add(std::move(made), std::move(own));
    }

    /// Allocates memory that is counted. Copies of other buffers may have to go for it.
    template <class Allocate>
    std::unique_ptr<backends::memory> allocate(space_id where, Allocate call) const {
        return room(asking_, space::from_id(where), copies_.bytes_, limit_).fill(call);
    }

    /// Returns the device's use of memory that another device has; null where no copy has any that it could use.
    std::unique_ptr<backends::memory> borrow(copy& made, backends::device& device) {
        if (copies_.bytes_ == 0) return nullptr;
        if (const remark* const ended = copies_.ended_turns()) {
            if (ended->where == made.where) made_.say(made.where, ended->text);
            return nullptr;
        }
        for (const copy& each : copies_) {
            const bool of_device = !each.on_host() && each.placed == placement::mirrored;
            if (!of_device || copies_.used_by_others(each.where)) continue;
            try {
                auto borrowed = device.borrow(*each.memory, copies_.wanted());
                if (!borrowed) continue;
                made.placed = placement::shared;
                made.lender = each.where;
                made_.say_nothing(made.where);
                return borrowed;
            } catch (const error& failure) {
                say(made.where, "sharing failed", failure);
            }
        }
        return nullptr;
    }

    /// Lets the device use the host's copy. Throws error(unsupported) where it cannot.
    const copy& share(space_id where, backends::device& device) {
        const copy* const on_host = find(coherence::host);
        const bool lent = on_host ? on_host->lender == where : lends(device.about(), copies_.options_.hint);
        if (lent) return use(where, *(on_host ? on_host : &lend(device, where))->memory);
        if (device.about().aliases_host) {
            const backends::memory& of_host = *make(coherence::host).memory;
            if (copies_.options_.access == host_access::constant && !device.about().aliases_constant) {
                throw error(error_code::unsupported,
                            "the memory at the host is for reading, which its driver may write to all the same");
            }
            if (!of_host.has_whole_lines()) {
                throw error(error_code::unsupported, "the memory at the host is the program's, and no whole lines");
            }
            std::byte* const address = of_host.host_address();
            copy made;
            made.where = where;
            made.placed = placement::shared;
            return add(std::move(made), device.alias({address, copies_.wanted().bytes}, copies_.wanted()));
        }
        if (!device.about().host_visible) {
            throw error(error_code::unsupported, "the device cannot share memory");
        }
        throw error(error_code::unsupported,
                    "it shares only memory that it has allocated, and the host's copy was there first: name the "
                    "device when the buffer is made");
    }

    const copy& use(space_id where, backends::memory& of_another) {
        copy made;
        made.where = where;
        made.placed = placement::shared;
        made.memory = held_memory(of_another);
        return add(std::move(made));
    }

    const copy& add(copy made, std::unique_ptr<backends::memory> own) {
        made.memory = held_memory(std::move(own));
        return add(std::move(made));
    }

    const copy& add(copy made) noexcept {
        room_.front() = std::move(made);
        made_.copies.splice_after(made_.copies.before_begin(), room_, room_.before_begin());
        return made_.copies.front();
    }

    void say(space_id where, const char* what, const error& failure) {
        made_.say(where, fmt::format("{}: {}", what, failure.message()));
    }

    const copies& copies_;
    const resident& asking_;
    wait_limit limit_;
    copy_list made_;
    std::forward_list<copy> room_;  // for all copies, so that memory that is counted is always kept
};

copy_list copies::prepare(space_id where, const resident& asking, const wait_limit& limit) const {
    const bool needs_host = where != coherence::host && !find(coherence::host);
    maker made(*this, needs_host ? 2 : 1, asking, limit);
    made.make(where);
    return std::move(made).take();
}

copy_list copies::prepare_own_host(const resident& asking, const wait_limit& limit) const {
    maker made(*this, 1, asking, limit);
    made.make_own_host();
    return std::move(made).take();
}

}  // namespace unibuf::detail
