// tracking/fault_watch.hpp: writes that are found by a handler of SIGSEGV, on kernels of any age, where the program
// asks for that: UNIBUF_TRACKING=signal.
//
// A page that is watched cannot be written. The first store to it calls the handler, which notes the page and makes it
// writable. The kernel itself cannot write it, and calls nobody: a system call that is to write there fails with
// EFAULT. So whoever has the right to write bytes at the host has their pages kept open meanwhile.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
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

    /// Whether any page was ever added.
    static inline constinit std::atomic<bool> is_used = false;

    /// Adds whole pages, which can be written until they are protected. Returns false, and has added nothing, where
    /// some of them are there already, or the host has no memory for the notes. Whoever forks keeps others from this
    /// and from remove().
    bool add(std::span<std::byte> pages) noexcept;

    /// Adds all of a mapping, until it is removed. Doing it again does no harm.
    bool add_common(std::span<std::byte> mapping) noexcept;

    /// Makes the pages that were added there writable, and forgets them.
    void remove(std::span<std::byte> pages) noexcept;

    // The rest is for pages that were added. A page that is not protected counts as written.

    /// Protects those that are not open. Returns false where the system refuses, as it may where a process has too many
    /// mappings; none of the mapping's pages is protected then.
    bool protect(std::span<std::byte> pages) noexcept;
    void unprotect(std::span<std::byte> pages) noexcept;

    /// Protects those that nobody has written, for all that is known.
    void protect_again(std::span<std::byte> pages) noexcept;

    /// Keeps the pages writable until they are closed as often as they were opened.
    void open(std::span<std::byte> pages) noexcept;
    void close(std::span<std::byte> pages) noexcept;

    /// Adds which bytes of `memory` lie in those of the pages that were written, in order, but stops after `most`
    /// pages; `protects_anew` says that those that are not open are watched again. Returns false where the system
    /// refuses that.
    bool scan(std::span<std::byte> pages, bool protects_anew, std::span<const std::byte> memory,
              std::vector<byte_range>& found, std::size_t most);

private:
    struct watched {
        std::uintptr_t end = 0;
        std::unique_ptr<bool[]> written{};          // of each page
        std::unique_ptr<std::uint32_t[]> opened{};  // how often each page is
    };
    using all_watched = std::map<std::uintptr_t, watched>;  // key: where the pages begin

    class alone;

    /// Some pages of what was added, by their numbers.
    struct pages_of {
        watched* in = nullptr;
        std::uintptr_t base = 0;
        std::size_t first = 0;
        std::size_t last = 0;  // behind them
    };

    fault_watch();

    static std::size_t borders_in(const pages_of& which) noexcept;
    void note(const pages_of& which, bool written) noexcept;
    void take_signal() noexcept;
    template <int Level>
    static void handle(int number, void* information, void* context) noexcept;
    bool make_writable(std::uintptr_t address) noexcept;
    bool make_all_writable(std::uintptr_t begin, watched& all) noexcept;
    void unprotect(const pages_of& which) noexcept;
    bool protect_closed(const pages_of& which) noexcept;
    all_watched::iterator find(std::uintptr_t address) noexcept;
    pages_of find(std::span<std::byte> pages) noexcept;
    void forget_all() noexcept;

    all_watched all_;
    std::atomic_flag taken_;              // guards all of this, also from the handler
    int levels_ = 0;                      // handlers of unibuf's that were put in front of others
    std::size_t borders_ = 0;             // between pages of which one can be written: each may begin a mapping
    std::size_t most_borders_;            // that stores may make: the process needs mappings for other things
    std::size_t faults_for_nothing_ = 0;  // at pages that can be written, since any page's protection has changed
};

}  // namespace unibuf::tracking
