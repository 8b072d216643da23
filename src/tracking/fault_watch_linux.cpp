// tracking/fault_watch_linux.cpp: writes that are found by a handler of SIGSEGV.
#include "tracking/fault_watch.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include "containers/room.hpp"
#include "system/mappings.hpp"
#include "system/pages.hpp"
#include "tracking/units.hpp"

namespace unibuf::tracking {
namespace {

// Each time that another handler has come in front of unibuf's, unibuf puts one more in front of that one. Each is a
// function of its own with one predecessor, so that a handler that calls the one before it, or brings that back, gets
// on, and never round in a circle.
constexpr int most_levels = 8;
std::array<struct ::sigaction, most_levels> before;  // what each level was put in front of, written before it is

std::uintptr_t address_of(std::span<const std::byte> of) noexcept {
    return reinterpret_cast<std::uintptr_t>(of.data());
}

bool set_protection(std::uintptr_t begin, std::uintptr_t end, int protection) noexcept {
    return ::mprotect(reinterpret_cast<void*>(begin), end - begin, protection) == 0;
}

/// Does what the program has asked for a fault that is none of unibuf's.
void pass_on(struct ::sigaction& asked, int number, siginfo_t* information, void* context) noexcept {
    const struct ::sigaction to = asked;
    if ((to.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) asked = {};  // the next fault ends the process
    const bool is_plain = (to.sa_flags & SA_SIGINFO) == 0;
    const bool is_sent = information->si_code <= 0;  // by somebody, as kill() does
    if (is_plain && to.sa_handler == SIG_IGN && is_sent) return;
    if (is_plain && (to.sa_handler == SIG_DFL || to.sa_handler == SIG_IGN)) {
        struct ::sigaction ends{};
        ends.sa_handler = SIG_DFL;
        ::sigaction(number, &ends, nullptr);
        if (is_sent) ::raise(number);
        return;  // the store, or the signal, comes again, and ends the process
    }
    sigset_t mask;
    sigset_t meanwhile = to.sa_mask;
    if ((to.sa_flags & SA_NODEFER) == 0) ::sigaddset(&meanwhile, number);
    ::pthread_sigmask(SIG_SETMASK, &meanwhile, &mask);
    if (is_plain) {
        to.sa_handler(number);
    } else {
        to.sa_sigaction(number, information, context);
    }
    ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
}

}  // namespace

/// Holds the notes, with all signals blocked: a handler of the program that interrupts this could fault.
class fault_watch::alone {
public:
    explicit alone(fault_watch& in) noexcept : in_(in) {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &mask_);
        while (in_.taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    ~alone() {
        in_.taken_.clear(std::memory_order_release);
        ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    }
    alone(const alone&) = delete;
    alone& operator=(const alone&) = delete;

private:
    fault_watch& in_;
    sigset_t mask_;
};

fault_watch& fault_watch::instance() {
    static auto* const only = new fault_watch;  // buffers may go when static objects do
    return *only;
}

fault_watch::fault_watch() : most_borders_(system::most_mappings() / 4) {
    // Whoever runs the program may have set the variable, and not who wrote it.
    std::fputs(
        "unibuf: UNIBUF_TRACKING is signal: read(2) and other system calls fail with EFAULT where host pointers are "
        "out. "
        "Take a lease for writing at the host, or an io_view, of what they are to write\n",
        stderr);
    // A thread of the parent may have had the notes, but none was adding pages: see add().
    ::pthread_atfork(nullptr, nullptr, [] {
        instance().forget_all();
        instance().taken_.clear(std::memory_order_release);
    });
}

/// A child finds no writes: see kernel::usable.
void fault_watch::forget_all() noexcept {
    for (const auto& [begin, each] : all_) set_protection(begin, each.end, PROT_READ | PROT_WRITE);
    all_.clear();
    borders_ = 0;
}

template <int Level>
void fault_watch::handle(int number, void* information, void* context) noexcept {
    auto* const about = static_cast<siginfo_t*>(information);
    const int error_before = errno;
    const bool is_own =
        about->si_code == SEGV_ACCERR && instance().make_writable(reinterpret_cast<std::uintptr_t>(about->si_addr));
    if (!is_own) pass_on(before[Level], number, about, context);
    errno = error_before;
}

/// Makes a handler of unibuf's that of the process, where it is none. The caller holds the notes.
void fault_watch::take_signal() noexcept {
    using handler = void (*)(int, siginfo_t*, void*);
    static constexpr auto all = []<int... Level>(std::integer_sequence<int, Level...>) {
        return std::array<void (*)(int, void*, void*) noexcept, most_levels>{&fault_watch::handle<Level>...};
    }(std::make_integer_sequence<int, most_levels>());
    const auto as_handler = [](int level) { return reinterpret_cast<handler>(all[static_cast<std::size_t>(level)]); };
    struct ::sigaction now{};
    ::sigaction(SIGSEGV, nullptr, &now);
    for (int level = 0; level < levels_ && (now.sa_flags & SA_SIGINFO) != 0; ++level) {
        if (now.sa_sigaction == as_handler(level)) return;
    }
    if (levels_ == most_levels) return;
    before[static_cast<std::size_t>(levels_)] = now;
    struct ::sigaction wanted{};
    wanted.sa_sigaction = as_handler(levels_);
    wanted.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigfillset(&wanted.sa_mask);
    if (::sigaction(SIGSEGV, &wanted, nullptr) == 0) ++levels_;
}

/// Makes the page writable where it is watched, and notes that. Returns false for a fault that is none of unibuf's.
bool fault_watch::make_writable(std::uintptr_t address) noexcept {
    while (taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    bool is_own = false;
    if (const auto found = find(address); found != all_.end()) {
        const std::size_t page = system::page_size();
        const std::size_t index = (address - found->first) / page;
        if (!found->second.written[index]) {
            const std::uintptr_t begin = found->first + index * page;
            // Each page may be a mapping of its own, of which a process has so many; all of them may be one.
            if (borders_ < most_borders_ && set_protection(begin, begin + page, PROT_READ | PROT_WRITE)) {
                note({&found->second, found->first, index, index + 1}, true);
                is_own = true;
            } else {
                is_own = make_all_writable(found->first, found->second);
            }
            faults_for_nothing_ = 0;
        } else {
            // Other threads were first, of which there are not so many; else the program has protected the page.
            constexpr std::size_t most_threads = 100'000;
            is_own = ++faults_for_nothing_ < most_threads;
        }
    }
    taken_.clear(std::memory_order_release);
    return is_own;
}

bool fault_watch::make_all_writable(std::uintptr_t begin, watched& all) noexcept {
    if (!set_protection(begin, all.end, PROT_READ | PROT_WRITE)) return false;
    note({&all, begin, 0, (all.end - begin) / system::page_size()}, true);
    return true;
}

/// Returns how many pages from the first of these to the one behind them are not as the one before them. What lies
/// around all that was added can be written.
std::size_t fault_watch::borders_in(const pages_of& which) noexcept {
    const bool* const written = which.in->written.get();
    const std::size_t count = (which.in->end - which.base) / system::page_size();
    bool before = which.first == 0 || written[which.first - 1];
    std::size_t result = 0;
    for (std::size_t each = which.first; each < which.last; ++each) {
        result += written[each] != before;
        before = written[each];
    }
    const bool behind = which.last == count || written[which.last];
    return result + (behind != before);
}

/// Notes whether the pages can be written. The caller holds the notes.
void fault_watch::note(const pages_of& which, bool written) noexcept {
    borders_ -= borders_in(which);
    std::fill(&which.in->written[which.first], &which.in->written[which.last], written);
    borders_ += borders_in(which);
}

fault_watch::all_watched::iterator fault_watch::find(std::uintptr_t address) noexcept {
    auto found = all_.upper_bound(address);
    if (found == all_.begin()) return all_.end();
    --found;
    return address < found->second.end ? found : all_.end();
}

/// Returns the numbers of pages that were added; those of none where they were not.
fault_watch::pages_of fault_watch::find(std::span<std::byte> pages) noexcept {
    const auto found = find(address_of(pages));
    if (found == all_.end()) return {};
    const std::size_t page = system::page_size();
    const std::size_t first = (address_of(pages) - found->first) / page;
    return {.in = &found->second, .base = found->first, .first = first, .last = first + pages.size() / page};
}

bool fault_watch::add(std::span<std::byte> pages) noexcept {
    const std::uintptr_t begin = address_of(pages);
    try {
        const std::size_t count = pages.size() / system::page_size();
        all_watched one;
        one.emplace(begin, watched{.end = begin + pages.size(),
                                   .written = std::make_unique<bool[]>(count),
                                   .opened = std::make_unique<std::uint32_t[]>(count)});
        std::fill_n(one.begin()->second.written.get(), count, true);
        const alone only(*this);
        const auto next = all_.lower_bound(begin);
        if (next != all_.end() && next->first < begin + pages.size()) return false;
        if (next != all_.begin() && std::prev(next)->second.end > begin) return false;
        all_.merge(one);
        is_used.store(true, std::memory_order_relaxed);
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

bool fault_watch::add_common(std::span<std::byte> mapping) noexcept {
    {
        const alone only(*this);
        if (all_.contains(address_of(mapping))) return true;
    }
    return add(mapping);
}

void fault_watch::remove(std::span<std::byte> pages) noexcept {
    all_watched::node_type gone;  // is freed with the notes let go of
    const alone only(*this);
    gone = all_.extract(address_of(pages));
    if (gone) {
        const pages_of all{&gone.mapped(), gone.key(), 0, (gone.mapped().end - gone.key()) / system::page_size()};
        set_protection(gone.key(), gone.mapped().end, PROT_READ | PROT_WRITE);
        note(all, true);
    }
    faults_for_nothing_ = 0;
}

/// Protects the pages but for those that are open. The caller holds the notes.
bool fault_watch::protect_closed(const pages_of& which) noexcept {
    take_signal();
    const std::size_t page = system::page_size();
    faults_for_nothing_ = 0;
    for (std::size_t first = which.first; first < which.last;) {
        std::size_t last = first;
        while (last < which.last && which.in->opened[last] == 0) ++last;
        if (first != last) {
            // They are noted first: a call that fails may have protected some of them.
            note({which.in, which.base, first, last}, false);
            if (!set_protection(which.base + first * page, which.base + last * page, PROT_READ)) {
                make_all_writable(which.base, *which.in);
                return false;
            }
        }
        first = last + 1;
    }
    return true;
}

bool fault_watch::protect(std::span<std::byte> pages) noexcept {
    const alone only(*this);
    const pages_of found = find(pages);
    return found.in && protect_closed(found);
}

void fault_watch::protect_again(std::span<std::byte> pages) noexcept {
    const alone only(*this);
    const pages_of found = find(pages);
    const std::size_t page = system::page_size();
    for (std::size_t first = found.first; first < found.last;) {
        std::size_t last = first;
        while (last < found.last && !found.in->written[last]) ++last;
        if (first != last) set_protection(found.base + first * page, found.base + last * page, PROT_READ);
        first = last + 1;
    }
}

/// Makes the pages writable, and notes that they are. The caller holds the notes.
void fault_watch::unprotect(const pages_of& which) noexcept {
    if (!which.in) return;
    faults_for_nothing_ = 0;
    const std::uintptr_t begin = which.base + which.first * system::page_size();
    const std::uintptr_t end = which.base + which.last * system::page_size();
    if (set_protection(begin, end, PROT_READ | PROT_WRITE)) {
        note(which, true);
    } else {  // as one mapping the pages are less
        make_all_writable(which.base, *which.in);
    }
}

void fault_watch::unprotect(std::span<std::byte> pages) noexcept {
    const alone only(*this);
    unprotect(find(pages));
}

void fault_watch::open(std::span<std::byte> pages) noexcept {
    const alone only(*this);
    const pages_of found = find(pages);
    unprotect(found);
    for (std::size_t each = found.first; each < found.last; ++each) {
        ++found.in->opened[each];
    }
}

void fault_watch::close(std::span<std::byte> pages) noexcept {
    const alone only(*this);
    const pages_of found = find(pages);
    for (std::size_t each = found.first; each < found.last; ++each) {
        std::uint32_t& opened = found.in->opened[each];
        if (opened != 0) --opened;  // pages that were added anew meanwhile are not open
    }
}

bool fault_watch::scan(std::span<std::byte> pages, bool protects_anew, std::span<const std::byte> memory,
                       std::vector<byte_range>& found, std::size_t most) {
    constexpr std::size_t runs_at_once = 256;
    const std::size_t page = system::page_size();
    const std::uintptr_t begin_of_memory = address_of(memory);
    std::size_t scanned = 0;
    const std::size_t count = pages.size() / page;
    for (std::size_t left = most; scanned < count && left != 0;) {
        make_room(found, runs_at_once);  // before a page is protected anew
        const alone only(*this);
        pages_of which = find(pages);
        if (!which.in) return false;
        if (protects_anew) take_signal();
        const bool* const written = which.in->written.get();
        which.first += scanned;
        for (std::size_t runs = 0; which.first < which.last && left != 0 && runs < runs_at_once; ++runs) {
            const void* const next = std::memchr(written + which.first, true, which.last - which.first);
            const std::size_t first =
                next ? static_cast<std::size_t>(static_cast<const bool*>(next) - written) : which.last;
            std::size_t last = first;
            for (; last < which.last && left != 0 && written[last]; ++last) --left;
            which.first = last;
            if (first == last) break;
            if (protects_anew && !protect_closed({which.in, which.base, first, last})) return false;
            const std::uintptr_t begin = which.base + first * page;
            const byte_range run{std::max(begin, begin_of_memory) - begin_of_memory,
                                 which.base + last * page - begin_of_memory};
            append(found, run.clipped_to({0, memory.size()}));
        }
        scanned = count - (which.last - which.first);
    }
    return true;
}

}  // namespace unibuf::tracking
