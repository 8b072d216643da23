// support/oracle.cpp
#include "support/oracle.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace unibuf::test {

oracle::oracle(std::size_t bytes, bool uninitialized) : cells_(bytes), uninitialized_(uninitialized) {
    drop_content({0, bytes});
}

std::uint8_t oracle::group(place where) const noexcept {
    const auto hosts = static_cast<std::uint8_t>(host_group_ | set_of(at_host) | set_of(at_host_as_device));
    if ((hosts & set_of(where)) != 0) return hosts;
    return holder_ ? static_cast<std::uint8_t>(set_of(at_first) | set_of(at_second)) : set_of(where);
}

void oracle::take_turns(place holder) {
    holder_ = holder;
    const std::uint8_t both = group(holder);
    for (cell& each : cells_) {
        if ((each.current & both) == 0) continue;
        each.current = static_cast<std::uint8_t>((each.current & ~both) | set_of(holder));
    }
}

void oracle::part() {
    constexpr auto both = static_cast<std::uint8_t>(1u << at_first | 1u << at_second);
    for (cell& each : cells_) each.current &= static_cast<std::uint8_t>(~both);
    holder_.reset();
}

void oracle::find_host_write(cell& of) noexcept {
    if (!of.exposed) return;
    of.current = set_of(at_host);
    of.written = true;
}

void oracle::take(byte_range range, place where) {
    for (standing_rules& each : standing_) each.take(range, where);
}

void oracle::read(byte_range range, place where) {
    take(range, where);
    for (cell& each : of(range)) {
        if (where != at_host) find_host_write(each);
        each.current |= set_of(where);
        each.filled = false;
    }
}

void oracle::write(byte_range range, place where) {
    for (cell& each : of(range)) {
        if (each.is == value::known) each.is = value::one_of_old;
    }
    read_write(range, where);
}

void oracle::read_write(byte_range range, place where) {
    take(range, where);
    for (cell& each : of(range)) newest_at(each, where);
}

void oracle::newest_at(cell& of, place where) noexcept {
    of.exposed = of.exposed && where == at_host;
    of.written = true;
    of.filled = false;
    of.current = set_of(where);
}

void oracle::put(byte_range range, std::span<const std::byte> content) {
    for (std::size_t i = 0; i < range.size(); ++i) {
        cell& each = cells_[range.begin + i];
        each.byte = content[i];
        each.is = value::known;
        each.filled = false;
    }
}

void oracle::put_untold(byte_range range, std::span<const std::byte> content) {
    for (std::size_t i = 0; i < range.size(); ++i) {
        if (cells_[range.begin + i].is == value::torn) continue;  // the host may have had just this value
        put({range.begin + i, range.begin + i + 1}, content.subspan(i, 1));
    }
}

void oracle::fill(byte_range range, std::span<const std::byte> pattern) {
    for (standing_rules& each : standing_) each.may_take(range);
    for (std::size_t i = 0; i < range.size(); ++i) {
        cell& each = cells_[range.begin + i];
        const bool suspect = each.suspect;
        each = {.byte = pattern[i % pattern.size()],
                .written = true,
                .held = each.held,  // only the buffer knows where the bytes were filled
                .views = each.views,
                .blurred = each.blurred,
                .filled = true};
        each.suspect = suspect;
    }
}

void oracle::fill_in_part(byte_range range) {
    for (cell& each : of(range)) {
        if (each.is == value::known) each.is = value::one_of_old;
    }
    doubt(range);
}

void oracle::mark(byte_range range, place where) {
    if (holder_ && where != at_host && where != at_host_as_device) where = *holder_;  // the two devices have one memory
    constexpr auto one_memory = static_cast<std::uint8_t>(1u << at_host | 1u << at_host_as_device);
    const std::uint8_t same = (set_of(where) & one_memory) != 0 ? one_memory : set_of(where);
    const bool shared = (group(where) & ~one_memory) != 0;
    for (cell& each : of(range)) {
        if (where != at_host) find_host_write(each);
        if ((each.current & same) == 0) each.is = shared ? value::torn : value::one_of_old;
    }
    read_write(range, where);
}

void oracle::expose(byte_range range) {
    for (cell& each : of(range)) each.exposed = each.held = each.blurred = true;
}

void oracle::end_pointers(byte_range range) {
    for (cell& each : of(range)) {
        each.held = false;
        end_exposure(each);
    }
}

void oracle::expose_view(byte_range range) {
    for (cell& each : of(range)) {
        each.exposed = each.blurred = true;
        ++each.views;
    }
}

void oracle::end_view(byte_range range) {
    for (cell& each : of(range)) {
        --each.views;
        end_exposure(each);
    }
}

void oracle::end_exposure(cell& of) noexcept {
    if (of.held || of.views != 0) return;
    find_host_write(of);
    of.exposed = false;
}

void oracle::drop(byte_range range, place where) {
    for (standing_rules& each : standing_) each.may_take(range);
    for (cell& each : of(range)) each.current &= static_cast<std::uint8_t>(~set_of(where));
}

void oracle::drop_content(byte_range range) {
    if (std::ranges::any_of(of(range), &cell::held)) {  // pointers show zeros from now on
        read_write(range, at_host);
        const std::vector<std::byte> zeros(range.size());
        put(range, zeros);
        for (cell& each : of(range)) {
            each.suspect = false;
            each.exposed = each.held;
        }
        return;
    }
    for (cell& each : of(range)) each = {.is = uninitialized_ ? value::anything : value::known};
}

void oracle::lose(byte_range range, place where) {
    for (cell& each : of(range)) {
        const bool only_there = each.current == set_of(where);
        if (each.filled || only_there) {
            each = {.is = value::anything,
                    .written = true,
                    .exposed = each.exposed,
                    .held = each.held,
                    .views = each.views,
                    .blurred = each.blurred};
        }
        if (each.is == value::one_of_old) each.is = value::anything;
        each.suspect = true;
    }
    doubt(range);  // bytes that were copied on from there are as bad
}

void oracle::suspect(byte_range range) {
    for (cell& each : of(range)) each.suspect = true;
    doubt(range);
}

void oracle::doubt(byte_range range) {
    for (cell& each : of(range)) each.current = 0;
}

std::string oracle::compare(byte_range range, std::span<const std::byte> got) {
    if (got.size() != range.size()) return fmt::format("{} bytes instead of {}", got.size(), range.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
        cell& each = cells_[range.begin + i];
        if (each.is == value::known && each.byte != got[i]) {
            return fmt::format("byte {} is {:#04x} instead of {:#04x}", range.begin + i, std::to_integer<int>(got[i]),
                               std::to_integer<int>(each.byte));
        }
        if (each.is == value::one_of_old) {
            each.is = value::known;
            each.byte = got[i];
        }
    }
    return {};
}

std::size_t oracle::stale(byte_range range, place where) const {
    const auto stale_at = [&](const cell& each) {
        const std::uint8_t current = each.exposed && where != at_host ? set_of(at_host) : each.current;
        return each.blurred || ((each.written || each.exposed) && (current & group(where)) == 0);
    };
    return static_cast<std::size_t>(std::ranges::count_if(of(range), stale_at));
}

bool oracle::may_drop(byte_range range, place where) const {
    return std::ranges::all_of(of(range), [&](const cell& each) {
        if (each.blurred && (group(at_host) & set_of(where)) != 0) return false;
        return !each.written || (each.current & ~set_of(where)) != 0;
    });
}

bool oracle::any_suspect(byte_range range) const { return std::ranges::any_of(of(range), &cell::suspect); }

bool oracle::all_exposed(byte_range range) const {
    return std::ranges::all_of(of(range), [](const cell& each) { return each.exposed; });
}

std::vector<std::byte> oracle::content() const {
    std::vector<std::byte> result;
    for (const cell& each : cells_) result.push_back(each.is == value::known ? each.byte : std::byte{0});
    return result;
}

}  // namespace unibuf::test
