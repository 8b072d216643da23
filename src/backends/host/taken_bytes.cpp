// backends/host/taken_bytes.cpp: which memory of the program's own is a buffer's.
#include "backends/host/taken_bytes.hpp"

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <map>
#include <mutex>

#include "process/mutex.hpp"
#include "unibuf/error.hpp"

namespace unibuf::backends {
namespace {

struct taker {
    const std::byte* end;
    std::string name;
};

/// All bytes that are taken, by their begin.
struct takers {
    process::mutex mutex;
    std::map<const std::byte*, taker> all;

    /// Returns the one object, which is never destroyed, as buffers may go when static objects do.
    static takers& instance() {
        static auto* const only = new takers;
        return *only;
    }
};

}  // namespace

taken_bytes::taken_bytes(std::span<const std::byte> bytes, const std::string& by) {
    if (bytes.empty()) return;
    const std::byte* const begin = bytes.data();
    const std::byte* const end = begin + bytes.size();
    takers& taken = takers::instance();
    const std::scoped_lock lock(taken.mutex);
    const auto next = taken.all.lower_bound(begin);
    const auto refuse = [&](const taker& other) {
        throw error(error_code::invalid_argument,
                    fmt::format("{}: a buffer over {} bytes at {} was asked for, but {} is over some of them: use that "
                                "one, or views of it, or end it first",
                                by, bytes.size(), static_cast<const void*>(begin), other.name));
    };
    if (next != taken.all.end() && std::less<>()(next->first, end)) refuse(next->second);
    if (next != taken.all.begin() && std::less<>()(begin, std::prev(next)->second.end)) refuse(std::prev(next)->second);
    taken.all.emplace_hint(next, begin, taker{end, by});
    begin_ = begin;
}

taken_bytes::~taken_bytes() {
    if (!begin_) return;
    takers& taken = takers::instance();
    const std::scoped_lock lock(taken.mutex);
    taken.all.erase(begin_);
}

}  // namespace unibuf::backends
