// tracking/fault_watch.hpp: writes that are found by a handler of SIGSEGV, on kernels of any age, where the program
// asks for that: UNIBUF_TRACKING=signal.
//
// A page that is watched cannot be written. The first store to it calls the handler, which notes the page and makes it
// writable. The kernel itself cannot write it, and calls nobody: system calls that would fail with EFAULT. So whoever
// has the right to write bytes at the host finds their pages writable: see watch::let_kernel_write.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "coherence/byte_range.hpp"

namespace unibuf::tracking {

/// The pages of this process that are watched so. Any thread may call these functions.
class fault_watch {
public:
    static fault_watch& instance();

    /// Makes the handler that of the process, once more where the program has set another since: that one is called for
    /// all other faults then, as the one before was.
    void take_signal() noexcept;

    /// Adds whole pages, which can be written until they are protected. Returns false, and has added nothing, where
    /// some of them are there already, or the host has no memory for the notes.
    bool add(std::span<std::byte> pages) noexcept;

    /// Adds all of a mapping, until it is removed. Doing it again does no harm.
    bool add_common(std::span<std::byte> mapping) noexcept;

    /// Makes the pages that were added there writable, and forgets them.
    void remove(std::span<std::byte> pages) noexcept;

    // The rest is for pages that were added. A page that is not protected counts as written.

    /// Returns false where the system refuses, as it may where a process has too many mappings.
    bool protect(std::span<std::byte> pages) noexcept;

    /// Notes that a page among these is to be found by a store to it alone, until it is protected anew: a store to
    /// those before it may else make it writable, too, so that a whole rewrite is a fault for many pages.
    void find_alone(std::span<std::byte> pages) noexcept;

    void unprotect(std::span<std::byte> pages) noexcept;

    /// Adds which bytes of `memory` lie in those of the pages that were written, in order, but stops after `most`
    /// pages; `protects_anew` says that these are watched again. Returns false where the system refuses that.
    bool scan(std::span<std::byte> pages, bool protects_anew, std::span<const std::byte> memory,
              std::vector<byte_range>& found, std::size_t most);

private:
    enum page_state : std::uint8_t { is_protected, is_written, is_protected_alone };

    struct watched {
        std::uintptr_t end = 0;
        std::unique_ptr<page_state[]> states{};  // of each page
        std::size_t next = 0;                    // page behind those that the last fault has made writable
        unsigned faults_in_order = 0;            // one behind the other, until now
    };
    using all_watched = std::map<std::uintptr_t, watched>;  // key: where the pages begin

    class alone;

    fault_watch();

    static void handle(int number, void* information, void* context) noexcept;
    bool make_writable(std::uintptr_t address) noexcept;
    static std::size_t pages_to_open(watched& in, std::size_t first, std::size_t count) noexcept;
    all_watched::iterator find(std::uintptr_t address) noexcept;
    void forget_all() noexcept;

    all_watched all_;
    std::atomic_flag taken_;             // guards what is above, also from the handler
    std::uint64_t changes_ = 0;          // of any page's protection
    std::uint64_t changes_at_last_ = 0;  // value of `changes_` at the last fault at a page that could be written
    std::uintptr_t last_ = 0;            // address of that fault
};

}  // namespace unibuf::tracking
