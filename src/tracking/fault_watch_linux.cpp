// tracking/fault_watch_linux.cpp: writes that are found by a handler of SIGSEGV.
#include "tracking/fault_watch.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <new>
#include <thread>

#include "containers/room.hpp"
#include "system/pages.hpp"
#include "tracking/units.hpp"

namespace unibuf::tracking {
namespace {

/// The handler before this one. It is read by the handler, so it is changed while nothing can be protected.
struct ::sigaction previous;

std::uintptr_t address_of(std::span<const std::byte> of) noexcept {
    return reinterpret_cast<std::uintptr_t>(of.data());
}

bool set_protection(std::uintptr_t begin, std::uintptr_t end, int protection) noexcept {
    return ::mprotect(reinterpret_cast<void*>(begin), end - begin, protection) == 0;
}

/// Does what the program has asked for a fault that is none of unibuf's.
void pass_on(int number, siginfo_t* information, void* context) noexcept {
    const bool is_plain = (previous.sa_flags & SA_SIGINFO) == 0;
    if (is_plain && (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN)) {
        ::sigaction(number, &previous, nullptr);  // the store is tried again, and ends the process
        return;
    }
    sigset_t before;
    sigset_t meanwhile = previous.sa_mask;
    if ((previous.sa_flags & SA_NODEFER) == 0) ::sigaddset(&meanwhile, number);
    ::pthread_sigmask(SIG_SETMASK, &meanwhile, &before);
    if (is_plain) {
        previous.sa_handler(number);
    } else {
        previous.sa_sigaction(number, information, context);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

/// Holds the notes, with all signals blocked: a handler of the program that interrupts this could fault.
class fault_watch::alone {
public:
    explicit alone(fault_watch& in) noexcept : in_(in) {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
        while (in_.taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    }
    ~alone() {
        in_.taken_.clear(std::memory_order_release);
        ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
    alone(const alone&) = delete;
    alone& operator=(const alone&) = delete;

private:
    fault_watch& in_;
    sigset_t before_;
};

fault_watch& fault_watch::instance() {
    static auto* const only = new fault_watch;  // buffers may go when static objects do
    return *only;
}

fault_watch::fault_watch() {
    ::pthread_atfork(
        [] {
            while (instance().taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
        },
        [] { instance().taken_.clear(std::memory_order_release); },
        [] {
            instance().forget_all();
            instance().taken_.clear(std::memory_order_release);
        });
}

/// A child finds no writes: see kernel::usable.
void fault_watch::forget_all() noexcept {
    for (const auto& [begin, each] : all_) set_protection(begin, each.end, PROT_READ | PROT_WRITE);
    all_.clear();
}

void fault_watch::take_signal() noexcept {
    const alone only(*this);
    struct ::sigaction now{};
    ::sigaction(SIGSEGV, nullptr, &now);
    const auto own = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(&fault_watch::handle);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == own) return;
    previous = now;
    struct ::sigaction wanted{};
    wanted.sa_sigaction = own;
    wanted.sa_flags = SA_SIGINFO | SA_ONSTACK;
    ::sigfillset(&wanted.sa_mask);
    ::sigaction(SIGSEGV, &wanted, nullptr);
}

void fault_watch::handle(int number, void* information, void* context) noexcept {
    auto* const about = static_cast<siginfo_t*>(information);
    const int error_before = errno;
    const bool is_own =
        about->si_code == SEGV_ACCERR && instance().make_writable(reinterpret_cast<std::uintptr_t>(about->si_addr));
    if (!is_own) pass_on(number, about, context);
    errno = error_before;
}

/// Returns how many pages from `first` on a fault there makes writable: more and more, where one fault has come behind
/// the other for a while.
std::size_t fault_watch::pages_to_open(watched& in, std::size_t first, std::size_t count) noexcept {
    constexpr unsigned exact = 8;   // so many faults in order are of one page each
    constexpr unsigned widest = 7;  // doublings
    in.faults_in_order = first == in.next ? std::min(in.faults_in_order + 1, exact + widest) : 0;
    const std::size_t most = in.faults_in_order <= exact ? 1 : std::size_t{1} << (in.faults_in_order - exact);
    std::size_t opened = 1;
    while (opened < most && first + opened < count && in.states[first + opened] == is_protected) ++opened;
    in.next = first + opened;
    return opened;
}

/// Makes the page writable where it is watched, and notes that. Returns false for a fault that is none of unibuf's.
bool fault_watch::make_writable(std::uintptr_t address) noexcept {
    while (taken_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
    bool is_own = false;
    if (const auto found = find(address); found != all_.end()) {
        const std::size_t page = system::page_size();
        const std::size_t count = (found->second.end - found->first) / page;
        const std::size_t index = (address - found->first) / page;
        page_state* const states = found->second.states.get();
        if (states[index] != is_written) {
            const std::size_t opened = pages_to_open(found->second, index, count);
            const std::uintptr_t begin = found->first + index * page;
            is_own = set_protection(begin, begin + opened * page, PROT_READ | PROT_WRITE);
            if (is_own) {
                std::fill_n(states + index, opened, is_written);
            } else {  // each page may be a mapping of its own, of which a process has so many; as one they are one
                is_own = set_protection(found->first, found->second.end, PROT_READ | PROT_WRITE);
                if (is_own) std::fill_n(states, count, is_written);
            }
            ++changes_;
        } else {
            // Another thread was first; if nothing has changed since the same fault, the program has protected the
            // page.
            is_own = last_ != address || changes_at_last_ != changes_;
            last_ = address;
            changes_at_last_ = changes_;
        }
    }
    taken_.clear(std::memory_order_release);
    return is_own;
}

fault_watch::all_watched::iterator fault_watch::find(std::uintptr_t address) noexcept {
    auto found = all_.upper_bound(address);
    if (found == all_.begin()) return all_.end();
    --found;
    return address < found->second.end ? found : all_.end();
}

bool fault_watch::add(std::span<std::byte> pages) noexcept {
    const std::uintptr_t begin = address_of(pages);
    try {
        const std::size_t count = pages.size() / system::page_size();
        all_watched one;
        one.emplace(begin, watched{.end = begin + pages.size(), .states = std::make_unique<page_state[]>(count)});
        std::fill_n(one.begin()->second.states.get(), count, is_written);
        take_signal();
        const alone only(*this);
        const auto next = all_.lower_bound(begin);
        if (next != all_.end() && next->first < begin + pages.size()) return false;
        if (next != all_.begin() && std::prev(next)->second.end > begin) return false;
        all_.merge(one);
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
    if (gone) set_protection(gone.key(), gone.mapped().end, PROT_READ | PROT_WRITE);
    ++changes_;
}

bool fault_watch::protect(std::span<std::byte> pages) noexcept {
    take_signal();
    const alone only(*this);
    const auto found = find(address_of(pages));
    if (found == all_.end()) return false;
    const std::uintptr_t begin = address_of(pages);
    const std::size_t page = system::page_size();
    ++changes_;
    if (!set_protection(begin, begin + pages.size(), PROT_READ)) return false;
    std::fill_n(&found->second.states[(begin - found->first) / page], pages.size() / page, is_protected);
    return true;
}

void fault_watch::find_alone(std::span<std::byte> pages) noexcept {
    const alone only(*this);
    const auto found = find(address_of(pages));
    if (found == all_.end()) return;
    const std::size_t page = system::page_size();
    page_state* const first = &found->second.states[(address_of(pages) - found->first) / page];
    std::replace(first, first + pages.size() / page, is_protected, is_protected_alone);
}

void fault_watch::unprotect(std::span<std::byte> pages) noexcept {
    const alone only(*this);
    const auto found = find(address_of(pages));
    if (found == all_.end()) return;
    std::uintptr_t begin = address_of(pages);
    std::uintptr_t end = begin + pages.size();
    ++changes_;
    if (!set_protection(begin, end, PROT_READ | PROT_WRITE)) {  // as one mapping the pages are less
        begin = found->first;
        end = found->second.end;
        if (!set_protection(begin, end, PROT_READ | PROT_WRITE)) return;
    }
    const std::size_t page = system::page_size();
    std::fill_n(&found->second.states[(begin - found->first) / page], (end - begin) / page, is_written);
}

bool fault_watch::scan(std::span<std::byte> pages, bool protects_anew, std::span<const std::byte> memory,
                       std::vector<byte_range>& found, std::size_t most) {
    constexpr std::size_t runs_at_once = 256;
    const std::size_t page = system::page_size();
    const std::uintptr_t first = address_of(memory);
    std::uintptr_t at = address_of(pages);
    const std::uintptr_t end = at + pages.size();
    std::size_t left = most;
    while (at < end && left != 0) {
        make_room(found, runs_at_once);  // before a page is protected anew
        const alone only(*this);
        const auto in = find(at);
        if (in == all_.end()) return false;
        page_state* const states = in->second.states.get();
        const auto index_of = [&](std::uintptr_t each) { return (each - in->first) / page; };
        const std::size_t last = index_of(end);
        for (std::size_t runs = 0; at < end && left != 0 && runs < runs_at_once; ++runs) {
            const void* const next = std::memchr(states + index_of(at), is_written, last - index_of(at));
            if (!next) {
                at = end;
                break;
            }
            const auto first_page = static_cast<std::size_t>(static_cast<const page_state*>(next) - states);
            std::size_t behind = first_page;
            for (; behind < last && left != 0 && states[behind] == is_written; ++behind) --left;
            const std::uintptr_t begin = in->first + first_page * page;
            at = in->first + behind * page;
            if (protects_anew) {
                ++changes_;
                if (!set_protection(begin, at, PROT_READ)) return false;
                std::fill(states + first_page, states + behind, is_protected);
            }
            append(found, byte_range{std::max(begin, first) - first, at - first}.clipped_to({0, memory.size()}));
        }
    }
    return true;
}

}  // namespace unibuf::tracking
