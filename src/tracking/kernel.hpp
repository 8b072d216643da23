// tracking/kernel.hpp: asynchronous write protection of Linux 6.7 and later: userfaultfd and PAGEMAP_SCAN.
//
// One pair of descriptors for the process; no thread, and no signal handler. Writes by system calls are found too.
// Where they were refused for lack of descriptors or memory, each buffer whose first pointer goes out tries again.
//
// Where the program asks for it, a handler of SIGSEGV does the same work: tracking/fault_watch.hpp.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "coherence/byte_range.hpp"
#include "process/mutex.hpp"

namespace unibuf::tracking {

class kernel {
public:
    /// Returns what the process has, which is opened at the first call and never closed.
    static kernel& instance();

    /// Returns whether the environment turns tracking off: UNIBUF_TRACKING=off.
    static bool is_off() noexcept;

    /// Returns whether writes are found by a handler of SIGSEGV, as the program has asked: UNIBUF_TRACKING=signal. The
    /// kernel's own writes fail at pages that are protected then, so they are made writable before: see
    /// watch::let_kernel_write.
    static bool is_by_signal() noexcept;

    /// Returns whether the program asks for digests, whatever they cost and whatever the kernel has:
    /// UNIBUF_TRACKING=digest.
    static bool is_by_digest() noexcept;

    /// Returns a remark on a value of UNIBUF_TRACKING that is none of these; else nothing.
    static std::string unknown_choice();

    /// Returns why the kernel's tracking cannot be used, and what cures that; empty where it can.
    std::string missing() const;

    /// Returns whether this process opened the descriptors: after a fork they are of the parent's memory.
    bool usable() const noexcept;

    /// Registers whole pages, which are a mapping of their own until they are removed. Returns false where the kernel
    /// refuses, and where a quarter of the mappings that a process may have are such: each may cut another one in two,
    /// and the program needs some. Returns false, too, where some of them are registered: one look at a page would hide
    /// from the other that it was written.
    bool add(std::span<std::byte> pages) noexcept;
    void remove(std::span<std::byte> pages) noexcept;

    /// Registers all of a mapping, until it goes; whoever unmaps it removes it before, under a
    /// process::mutex. Both may be done again.
    bool add_common(std::span<std::byte> mapping) noexcept;
    static void remove_common(std::span<std::byte> mapping) noexcept;

    // Both of these are for pages that were added. protect throws error(unsupported) where the kernel refuses, or after
    // a fork.
    void protect(std::span<std::byte> pages, bool against_writes) const;
    void unprotect(std::span<std::byte> pages) const noexcept;  // does nothing where it cannot

    /// Protects what is protected, for all that is known: the program may have mapped those pages anew, or made them
    /// writable. Where the kernel finds the writes it finds that, too, and this does nothing.
    void protect_again(std::span<std::byte> pages) const noexcept;

    // Between these two, pages count as written, and system calls can write them where they could not: see fault_watch.
    void open(std::span<std::byte> pages) const noexcept;
    void close(std::span<std::byte> pages) const noexcept;

    enum class look_for { written, written_and_protect, touched, present };

    /// Adds which bytes of `memory` lie in those of the pages that are so, in order, but stops after `most` bytes of
    /// pages. Where it throws, what the kernel has told has been added.
    void scan(std::span<std::byte> pages, look_for what, std::span<const std::byte> memory,
              std::vector<byte_range>& found, std::size_t most) const;

private:
    kernel();

    /// What the kernel may have refused.
    struct refusal {
        std::string text;
        bool is_for_now = false;  // for lack of descriptors or memory, which may be there later
    };

    std::optional<refusal> open();
    bool is_ready() noexcept;  // needs the mutex
    bool registers(std::span<std::byte> pages) const noexcept;
    bool has_any_of(std::span<std::byte> pages) const noexcept;
    bool set_protection(std::span<std::byte> pages, bool against_writes) const noexcept;
    void scan_noted(std::span<std::byte> pages, look_for what, std::span<const std::byte> memory,
                    std::vector<byte_range>& found, std::size_t most) const;

    int faults_ = -1;
    int pagemap_ = -1;
    int forks_ = 0;
    std::atomic<bool> is_open_ = false;  // what is above is set by then, and stays
    std::optional<refusal> refused_;     // while it is not open
    std::size_t most_ = 0;               // most mappings of their own that may be added
    std::atomic<std::size_t> added_{0};  // number of mappings that were added
    mutable process::mutex mutex_;
};

}  // namespace unibuf::tracking
