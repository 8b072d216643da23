// trace/contents.cpp: tells a close trace what is news.
#include "trace/contents.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <utility>
#include <vector>

#include "coherence/byte_ranges.hpp"
#include "process/lasting.hpp"
#include "process/mutex.hpp"

namespace unibuf::trace {
namespace {

constexpr std::size_t line = 64;

/// The bytes of one buffer as they went to or from one device last.
class kept {
public:
    explicit kept(std::size_t size) : bytes_(size) {}

    /// Returns how many bytes of the run, which lie at `now`, are news, and keeps them.
    std::uint64_t keep(byte_range run, const std::byte* now) {
        if (run.end > bytes_.size()) bytes_.resize(run.end);
        std::uint64_t news = 0;
        for (byte_range each{run.begin, run.begin}; each.begin < run.end; each.begin = each.end) {
            each.end = std::min(each.begin + line, run.end);
            const bool same = known_.bytes_in(each) == each.size() &&
                              std::memcmp(&bytes_[each.begin], now + (each.begin - run.begin), each.size()) == 0;
            if (!same) news += each.size();
        }
        std::copy(now, now + run.size(), bytes_.begin() + static_cast<std::ptrdiff_t>(run.begin));
        known_.add(run);
        return news;
    }

private:
    std::vector<std::byte> bytes_;
    byte_ranges known_;  // what of them has gone at all
};

class all_contents {
public:
    static all_contents& instance() {
        static process::lasting<all_contents> only;  // buffers may end after static objects
        return *only;
    }

    std::uint64_t keep(std::uint64_t buffer, coherence::space_id device, const region& part, const std::byte* first,
                       bool is_packed, std::size_t size) {
        const std::scoped_lock lock(mutex_);
        kept& last = all_.try_emplace({buffer, device}, size).first->second;
        std::uint64_t news = 0;
        std::size_t before = 0;
        part.for_each_run([&](byte_range run) {
            news += last.keep(run, first + (is_packed ? before : run.begin - part.begin()));
            before += run.size();
        });
        return news;
    }

    void forget(std::uint64_t buffer) {
        const std::scoped_lock lock(mutex_);
        all_.erase(all_.lower_bound({buffer, 0}), all_.lower_bound({buffer + 1, 0}));
    }

    void forget() {
        const std::scoped_lock lock(mutex_);
        all_.clear();
    }

private:
    process::mutex mutex_;
    std::map<std::pair<std::uint64_t, coherence::space_id>, kept> all_;
};

}  // namespace

std::optional<std::uint64_t> changed_in(std::uint64_t buffer, coherence::space_id device, const region& part,
                                        const std::byte* first, bool is_packed, std::size_t size) noexcept {
    try {
        return all_contents::instance().keep(buffer, device, part, first, is_packed, size);
    } catch (const std::bad_alloc&) {
        return std::nullopt;
    }
}

void forget_contents(std::uint64_t buffer) noexcept { all_contents::instance().forget(buffer); }
void forget_contents() noexcept { all_contents::instance().forget(); }

}  // namespace unibuf::trace
