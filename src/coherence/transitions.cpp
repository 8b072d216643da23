// coherence/transitions.cpp: changes the directory when something has happened.
#include "coherence/transitions.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>
#include <vector>

namespace unibuf::coherence {
namespace {

auto completion_of(const step& done, const sharing& memories) {
    return [&](knowledge& k) {
        if (done.does == step::kind::publish) {
            if (!has(k.current, done.from)) return;
            if (writes(done.what) && !k.exposed() && !done.found_later) k.current &= ~memories.group(done.to);
        }
        // What the host holds now may not be what it sent before.
        if (done.from == host) k.digested = done.digested;
        k.current |= set_of(done.to);
        if (k.what == content::written && std::popcount(k.current) > 1) k.what = content::settled;
    };
}

auto writing_of(space_id where) {
    return [=](knowledge& k) {
        k = {.current = set_of(where), .what = content::written, .host_pointers = k.host_pointers};
        if (k.host_pointers == pointers::fresh) k.host_pointers = pointers::assumed;
    };
}

auto opening_of(space_id where) {
    return [=](knowledge& k) {
        writing_of(where)(k);
        k.open = true;
    };
}

constexpr auto assume_pointers = [](knowledge& k) {
    if (k.exposed()) k.host_pointers = pointers::assumed;
};

}  // namespace

void complete(directory& map, const sharing& memories, const step& done, std::span<const region> parts) {
    if (done.does == step::kind::wait) return;
    if (!std::ranges::all_of(parts, &region::is_range)) return map.update_all(parts, completion_of(done, memories));
    std::vector<byte_range> ranges(parts.size());
    std::ranges::transform(parts, ranges.begin(), &region::hull);
    map.update_all(byte_ranges::of(std::move(ranges)), completion_of(done, memories));
}

void complete(directory& map, const sharing& memories, const step& done) {
    if (done.does != step::kind::wait) map.update(done.part, completion_of(done, memories));
}

void complete(const directory::promise& in, const sharing& memories, const step& done, const region& part) noexcept {
    if (done.does != step::kind::wait) in.update(part, completion_of(done, memories));
}

void wrote(directory& map, const region& part, space_id where) { map.update(part, writing_of(where)); }

void wrote(const directory::promise& in, const region& part, space_id where) noexcept {
    in.update(part, writing_of(where));
}

void open(directory& map, const region& part, space_id where) { map.update(part, opening_of(where)); }

void open(const directory::promise& in, const region& part, space_id where) noexcept {
    in.update(part, opening_of(where));
}

void pause(directory& map, const region& part) {
    map.update(part, [](knowledge& k) { k.open = false; });
}

void expose(directory& map, const byte_ranges& ranges, pointers how) {
    map.update_all(ranges, [&](knowledge& k) { k.host_pointers = how; });
}

void expose_unseen(directory& map, const region& part) {
    map.update(part, [](knowledge& k) {
        if (!k.exposed()) k.host_pointers = pointers::assumed;
    });
}

void end_pointers(directory& map, const region& part) {
    assume_host_writes(map, part);
    map.update(part, [](knowledge& k) {
        if (!k.contested) k.host_pointers = pointers::none;
    });
}

void stop_watching(directory& map, const region& part) { map.update(part, assume_pointers); }

void stop_watching(const directory::promise& in, const region& part) noexcept { in.update(part, assume_pointers); }

bool any_exposed(const directory& map) { return map.summarize().any_exposed; }

void assume_host_writes(directory& map, const region& part) {
    map.update(part, [](knowledge& k) {
        if (k.taken_for_written())
            k = {.current = set_of(host), .what = content::written, .host_pointers = k.host_pointers};
    });
}

void found_host_writes(directory& map, const byte_ranges& ranges) {
    map.update_all(ranges, [](knowledge& k) {
        if (!k.exposed()) return;
        if (!has(k.current, host)) {
            k.contested |= k.host_pointers == pointers::watched;
            return;
        }
        const pointers later = k.host_pointers == pointers::fresh ? pointers::assumed : k.host_pointers;
        k = {.current = set_of(host), .what = content::written, .host_pointers = later};
    });
}

bool is_contested_at(const knowledge& k, space_id where) noexcept {
    return k.contested && (where == host || has(k.current, where));
}

void settle_without(directory& map, const region& part, space_id where) {
    map.update(part, [&](knowledge& k) {
        if (!is_contested_at(k, where)) return;
        if (where != host) k = {.current = set_of(host), .what = content::written, .host_pointers = k.host_pointers};
        k.contested = false;
    });
}

void drop(directory& map, const region& part, space_id where) {
    assert(only_at(map, part, where).empty());
    map.update(part, [&](knowledge& k) { k.current &= ~set_of(where); });
}

void about_to_overwrite(const directory::promise& in, const region& part, space_id where, space_set group,
                        bool pointers_are_out) noexcept {
    in.update(part, [&](knowledge& k) {
        if (k.contested) return;
        const space_set others = k.current & ~group;
        if (pointers_are_out && has(k.current & group, host)) {
            k.current = set_of(host);
        } else if (others != 0 || k.what == content::unwritten) {
            k.current = others;
        } else {
            const space_set rest = k.current & ~set_of(where);
            if (k.current != 0) k.current = set_of(static_cast<space_id>(std::countr_zero(rest ? rest : k.current)));
        }
    });
}

void hand_over(directory& map, space_id from, space_id to) {
    map.update(map.whole(), [&](knowledge& k) {
        if (has(k.current, from)) k.current = (k.current & ~set_of(from)) | set_of(to);
    });
}

void did_not_arrive(directory& map, const region& part, space_id where) {
    map.update(part, [&](knowledge& k) {
        if (!has(k.current, where)) return;
        const space_set others = k.current & ~set_of(where);
        if (others != 0 || k.what == content::unwritten) {
            k.current = others;
        } else {
            k.lost = true;
            k.open = false;
        }
    });
}

void drop_content(directory& map, const region& part) {
    map.update(part, [](knowledge& k) { k = {}; });
}

byte_range contested_in(const directory& map, const region& part) {
    return map.first_where(part, [](const knowledge& k) { return k.contested; });
}

byte_range lost_in(const directory& map, const region& part) {
    return map.first_where(part, [](const knowledge& k) { return k.lost; });
}

bool is_only_at(const knowledge& k, space_id where) noexcept {
    const bool may_be_newer = k.exposed() && where == host;
    return may_be_newer || (k.what != content::unwritten && k.current == set_of(where));
}

byte_range only_at(const directory& map, const region& part, space_id where) {
    return map.first_where(part, [&](const knowledge& k) { return is_only_at(k, where); });
}

}  // namespace unibuf::coherence
