// support/history.cpp
#include "support/history.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "unibuf/error.hpp"

namespace unibuf::test {
namespace {

constexpr fake_traits separate{};
constexpr fake_traits addressable{.addressable = true};
constexpr fake_traits poisoning{.addressable = true, .poisons = true};
constexpr fake_traits zeroed{.addressable = true, .starts_zero = true};
constexpr fake_traits aliasing{.aliases = true};
constexpr fake_traits visible{.visible = true};
constexpr fake_traits asynchronous{.asynchronous = true};
constexpr fake_traits addressable_later{.asynchronous = true, .addressable = true};
constexpr fake_traits aliasing_later{.aliases = true, .asynchronous = true};
constexpr fake_traits visible_later{.visible = true, .asynchronous = true};

constexpr fake_traits keeping_own_later{.aliases = true, .asynchronous = true, .keeps_own = true};

constexpr fake_traits borrowing{.borrows = true};
constexpr fake_traits borrowing_later{.asynchronous = true, .borrows = true};

constexpr std::array all{
    arrangement{"two_memories", separate, addressable},
    arrangement{"aliasing_and_separate", aliasing, separate},
    arrangement{"two_that_alias", aliasing, aliasing},
    arrangement{"visible_and_separate", visible, separate},
    arrangement{"visible_and_aliasing", visible, aliasing},
    arrangement{"asynchronous_and_separate", asynchronous, addressable},
    arrangement{"asynchronous_addressable_and_separate", addressable_later, separate},
    arrangement{"two_asynchronous", asynchronous, asynchronous},
    arrangement{"asynchronous_aliasing_and_asynchronous", aliasing_later, asynchronous},
    arrangement{"asynchronous_visible_and_aliasing", visible_later, aliasing},
    arrangement{"two_asynchronous_that_alias", aliasing_later, aliasing_later},
    arrangement{"poisoning_and_zeroed", poisoning, zeroed},
    arrangement{"poisoning_and_asynchronous_aliasing", poisoning, aliasing_later},
    arrangement{"lending_and_borrowing", separate, borrowing},
    arrangement{"asynchronous_lending_and_borrowing", asynchronous, borrowing_later},
    arrangement{"aliasing_and_borrowing", aliasing, borrowing},
    arrangement{"asynchronous_keeping_own_and_asynchronous", keeping_own_later, asynchronous},
    arrangement{"debug_and_separate", {}, separate, {"debug:0", nullptr}},
    arrangement{"debug_and_asynchronous_aliasing", {}, aliasing_later, {"debug:0", nullptr}},
    arrangement{"debug_and_opencl", {}, {}, {"debug:0", "opencl:0"}},
    arrangement{"debug_and_opengl", {}, {}, {"debug:0", "opengl:0"}},
    arrangement{"opencl_and_opengl", {}, {}, {"opencl:0", "opengl:0"}},
    arrangement{"debug_and_metal", {}, {}, {"debug:0", "metal:0"}},
    arrangement{"metal_and_opencl", {}, {}, {"metal:0", "opencl:0"}},
};
// Histories of the fuzzer are played on fakes alone, which fail when they are told to, and leave nothing behind.
constexpr auto fakes =
    static_cast<std::size_t>(std::ranges::count(all, nullptr, [](const arrangement& each) { return each.real[0]; }));

constexpr std::array<const char*, verbs> names{"read",
                                               "write",
                                               "read_write",
                                               "end_lease",
                                               "write_under_lease",
                                               "host_write",
                                               "host_read",
                                               "old_pointer_write",
                                               "release_host",
                                               "device_read",
                                               "device_write",
                                               "host_write_and_mark",
                                               "mark",
                                               "sync_to_host",
                                               "sync_to_device",
                                               "prefetch",
                                               "discard",
                                               "discard_content",
                                               "fill",
                                               "copy_from",
                                               "copy_to",
                                               "view",
                                               "drop_view",
                                               "set_default",
                                               "fail",
                                               "make_room",
                                               "hold_copy",
                                               "let_go",
                                               "bind",
                                               "write_unseen",
                                               "pause_hold",
                                               "resume_hold",
                                               "end_hold",
                                               "recycle",
                                               "rectangle"};
constexpr std::size_t header_bytes = 4;
constexpr std::size_t operation_bytes = 7;

}  // namespace

std::span<const arrangement> arrangements() { return all; }

std::string why_missing(const arrangement& of) {
    for (const char* const each : of.real) {
        try {
            if (each) static_cast<void>(space(each));
        } catch (const error& missing) {
            return missing.what();
        }
    }
    return {};
}

history history::decode(std::span<const std::uint8_t> bytes) {
    history result;
    if (bytes.size() < header_bytes) return result;
    result.arrangement = static_cast<std::uint8_t>(bytes[0] % fakes);
    result.hint = bytes[1];
    result.size = bytes[2];
    result.flags = bytes[3];
    for (std::size_t i = header_bytes; i + operation_bytes <= bytes.size(); i += operation_bytes) {
        const auto of = bytes.subspan(i, operation_bytes);
        result.operations.push_back({static_cast<verb>(of[0] % verbs), of[1], of[2], of[3], of[4], of[5], of[6]});
    }
    return result;
}

std::vector<std::uint8_t> history::encode() const {
    std::vector<std::uint8_t> result{arrangement, hint, size, flags};
    for (const operation& each : operations) {
        result.insert(result.end(), {static_cast<std::uint8_t>(each.does), each.where, each.handle, each.offset,
                                     each.count, each.value, each.flags});
    }
    return result;
}

std::ostream& operator<<(std::ostream& out, const operation& what) {
    static constexpr std::array where{"host", "first", "second"};
    static constexpr std::array flags{" hold", " on_queue", " partly", " give_up", " beyond", " look"};
    out << names[static_cast<std::size_t>(what.does)] << " at " << where[what.where % 3] << ", handle "
        << what.handle % 4 << ", offset " << int{what.offset} << ", count " << int{what.count} << ", value "
        << int{what.value};
    for (std::size_t bit = 0; bit < flags.size(); ++bit) {
        if ((what.flags >> bit & 1) != 0) out << flags[bit];
    }
    return out;
}

std::ostream& operator<<(std::ostream& out, const history& what) {
    out << "on " << all[what.arrangement % all.size()].name << ", hint " << what.hint % 3 << ", size " << int{what.size}
        << ", flags " << int{what.flags} << ((what.flags & history::by_c) != 0 ? ", by C" : "")
        << ((what.flags & history::pooled) != 0 ? ", of a pool" : "") << ":\n";
    for (const operation& each : what.operations) out << "  " << each << "\n";
    return out;
}

std::string as_input(const history& what) {
    if (what.arrangement >= fakes) return {};
    std::string result = "\nIt joins the corpus by: printf '";
    for (const std::uint8_t byte : what.encode()) result += fmt::format("\\x{:02x}", byte);
    return result + "' >tests/fuzz/corpus/NAME";
}

}  // namespace unibuf::test
