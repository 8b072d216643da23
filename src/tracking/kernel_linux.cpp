// tracking/kernel_linux.cpp: asynchronous write protection of Linux 6.7 and later: userfaultfd and PAGEMAP_SCAN.
#include "tracking/kernel.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "process/forks.hpp"
#include "system/files.hpp"
#include "system/mappings.hpp"
#include "system/pages.hpp"
#include "tracking/fault_watch.hpp"
#include "tracking/units.hpp"
#include "unibuf/error.hpp"

namespace unibuf::tracking {
namespace {

// These two are newer than the headers of many systems: <linux/userfaultfd.h> and <linux/fs.h> of Linux 6.7 have them.
constexpr int user_mode_only = 1;
constexpr int faults_flags = O_CLOEXEC | O_NONBLOCK | user_mode_only;
constexpr unsigned long new_faults = _IO(0xAA, 0);  // of /dev/userfaultfd, since Linux 6.1
constexpr std::uint64_t feature_unpopulated = 1U << 13;
constexpr std::uint64_t feature_asynchronous = 1U << 15;

struct scan_request {
    std::uint64_t size = sizeof(scan_request);
    std::uint64_t flags = 0;
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t walk_end = 0;
    std::uint64_t regions = 0;
    std::uint64_t regions_count = 0;
    std::uint64_t most_pages = 0;
    std::uint64_t inverted = 0;
    std::uint64_t all_of = 0;
    std::uint64_t any_of = 0;
    std::uint64_t tell = 0;
};
static_assert(sizeof(scan_request) == 96);

struct scan_region {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t categories;
};

constexpr unsigned long pagemap_scan = _IOWR('f', 16, scan_request);
constexpr std::uint64_t protect_what_matches = 1;
constexpr std::uint64_t check_protection = 2;
constexpr std::uint64_t may_be_protected = 1;
constexpr std::uint64_t is_written = 2;
constexpr std::uint64_t is_present = 8;
constexpr std::uint64_t is_swapped = 16;
constexpr std::uint64_t is_zero_page = 32;

std::uint64_t address_of(std::span<std::byte> pages) noexcept {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pages.data()));
}

uffdio_range range_of(std::span<std::byte> pages) noexcept {
    return {.start = address_of(pages), .len = static_cast<std::uint64_t>(pages.size())};
}

constexpr const char* by_signal = "UNIBUF_TRACKING=signal finds writes without it, by a handler of SIGSEGV";

std::string why() { return std::strerror(errno); }

/// Returns whether what has just failed may be had later.
bool is_for_now() noexcept { return errno == EMFILE || errno == ENFILE || errno == ENOMEM; }

[[noreturn]] void refuse(const char* what) {
    throw error(error_code::unsupported,
                fmt::format("writes are not found any more: {}: {}", what, std::strerror(errno)));
}

}  // namespace

kernel::kernel() : forks_(process::forks()), refused_(open()), most_(system::most_mappings() / 4) {
    is_open_ = !refused_;
}

std::optional<kernel::refusal> kernel::open() {
    if (is_off()) return refusal{"UNIBUF_TRACKING is off"};
    if (is_by_digest()) return refusal{"UNIBUF_TRACKING is digest: contents are compared with what was sent"};
    if (is_by_signal()) return std::nullopt;
    system::descriptor faults(static_cast<int>(::syscall(SYS_userfaultfd, faults_flags)));
    if (!faults) {
        const bool is_momentary = is_for_now();
        const std::string by_call = why();
        if (is_momentary) return refusal{fmt::format("userfaultfd is refused: {}", by_call), true};
        const system::descriptor device(::open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
        if (device) faults = system::descriptor(::ioctl(device.get(), new_faults, faults_flags));
        if (!faults) {
            const bool later = is_for_now();
            return refusal{fmt::format("userfaultfd is refused ({}), and so is /dev/userfaultfd ({}). In a container, "
                                       "a seccomp profile that allows userfaultfd cures that, or, for its root, "
                                       "--device /dev/userfaultfd; {}",
                                       by_call, why(), by_signal),
                           later};
        }
    }
    uffdio_api wanted{};
    wanted.api = UFFD_API;
    wanted.features = feature_unpopulated | feature_asynchronous;
    if (::ioctl(faults.get(), UFFDIO_API, &wanted) != 0) {
        return refusal{
            fmt::format("userfaultfd has no asynchronous write protection: {}. Linux 6.7 has it (arm64: 6.10); {}",
                        why(), by_signal)};
    }
    system::descriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    if (!pagemap) {
        const bool later = is_for_now();
        return refusal{fmt::format("/proc/self/pagemap cannot be opened: {}", why()), later};
    }
    scan_request nothing;
    nothing.all_of = nothing.tell = is_written;
    if (::ioctl(pagemap.get(), pagemap_scan, &nothing) != 0) {
        return refusal{fmt::format("PAGEMAP_SCAN is refused: {}. Linux 6.7 has it; {}", why(), by_signal)};
    }
    faults_ = faults.take();
    pagemap_ = pagemap.take();
    return std::nullopt;
}

bool kernel::registers(std::span<std::byte> pages) const noexcept {
    uffdio_register wanted{};
    wanted.range = range_of(pages);
    wanted.mode = UFFDIO_REGISTER_MODE_WP;
    return ::ioctl(faults_, UFFDIO_REGISTER, &wanted) == 0;
}

bool kernel::add_common(std::span<std::byte> mapping) noexcept {
    const std::scoped_lock lock(mutex_);
    if (!is_ready()) return false;
    return is_by_signal() ? fault_watch::instance().add_common(mapping) : registers(mapping);
}

void kernel::remove_common(std::span<std::byte> mapping) noexcept {
    if (!fault_watch::is_used.load(std::memory_order_relaxed) || !instance().usable()) return;
    fault_watch::instance().remove(mapping);  // whoever unmaps it has a process::mutex, so nobody forks meanwhile
}

/// Returns whether some of the pages are registered: here, or with a userfaultfd of the program's own.
bool kernel::has_any_of(std::span<std::byte> pages) const noexcept {
    scan_region first{};
    scan_request request;
    request.start = address_of(pages);
    request.end = request.start + pages.size();
    request.regions = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&first));
    request.regions_count = request.most_pages = 1;
    request.all_of = request.tell = may_be_protected;
    return ::ioctl(pagemap_, pagemap_scan, &request) != 0;
}

bool kernel::add(std::span<std::byte> pages) noexcept {
    const std::scoped_lock lock(mutex_);
    const auto begin_to_watch = [&] {
        return is_by_signal() ? fault_watch::instance().add(pages) : !has_any_of(pages) && registers(pages);
    };
    if (added_.fetch_add(1, std::memory_order_relaxed) < most_ && is_ready() && begin_to_watch()) return true;
    added_.fetch_sub(1, std::memory_order_relaxed);
    return false;
}

void kernel::remove(std::span<std::byte> pages) noexcept {
    added_.fetch_sub(1, std::memory_order_relaxed);
    if (!usable()) return;
    if (is_by_signal()) {
        const std::scoped_lock lock(mutex_);
        return fault_watch::instance().remove(pages);
    }
    uffdio_range range = range_of(pages);
    ::ioctl(faults_, UFFDIO_UNREGISTER, &range);
}

bool kernel::set_protection(std::span<std::byte> pages, bool against_writes) const noexcept {
    if (is_by_signal()) {
        fault_watch& by = fault_watch::instance();
        if (against_writes) return by.protect(pages);
        by.unprotect(pages);
        return true;
    }
    uffdio_writeprotect wanted{};
    wanted.range = range_of(pages);
    wanted.mode = against_writes ? UFFDIO_WRITEPROTECT_MODE_WP : 0;
    return ::ioctl(faults_, UFFDIO_WRITEPROTECT, &wanted) == 0;
}

void kernel::protect(std::span<std::byte> pages, bool against_writes) const {
    if (pages.empty()) return;
    errno = ENOTSUP;
    if (!usable()) refuse("this process was forked");
    if (!set_protection(pages, against_writes)) refuse("protecting pages");
}

void kernel::protect_again(std::span<std::byte> pages) const noexcept {
    if (is_by_signal() && usable()) fault_watch::instance().protect_again(pages);
}

void kernel::open(std::span<std::byte> pages) const noexcept {
    if (is_by_signal() && usable()) fault_watch::instance().open(pages);
}

void kernel::close(std::span<std::byte> pages) const noexcept {
    if (is_by_signal() && usable()) fault_watch::instance().close(pages);
}

void kernel::unprotect(std::span<std::byte> pages) const noexcept {
    if (usable()) set_protection(pages, false);
}

/// Scans what the handler of SIGSEGV has noted. It knows nothing of pages that nobody has touched: these all count.
void kernel::scan_noted(std::span<std::byte> pages, look_for what, std::span<const std::byte> memory,
                        std::vector<byte_range>& found, std::size_t most) const {
    errno = ENOTSUP;
    if (!usable()) refuse("this process was forked");
    if (what == look_for::touched || what == look_for::present) return append(found, {0, memory.size()});
    const std::size_t most_pages = std::max<std::size_t>(most / system::page_size(), 1);
    if (!fault_watch::instance().scan(pages, what == look_for::written_and_protect, memory, found, most_pages))
        refuse("protecting pages");
}

void kernel::scan(std::span<std::byte> pages, look_for what, std::span<const std::byte> memory,
                  std::vector<byte_range>& found, std::size_t most) const {
    if (is_by_signal()) return scan_noted(pages, what, memory, found, most);
    std::array<scan_region, 256> regions;
    const auto first = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(memory.data()));
    scan_request request;
    request.start = address_of(pages);
    request.end = request.start + pages.size();
    request.regions = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(regions.data()));
    request.regions_count = regions.size();
    request.most_pages = most / system::page_size() == std::numeric_limits<std::size_t>::max() / system::page_size()
                             ? 0
                             : most / system::page_size();
    if (what == look_for::touched || what == look_for::present) {
        request.any_of = what == look_for::touched ? is_present | is_swapped : is_present;
        request.inverted = request.all_of = is_zero_page;
        request.tell = is_present;
    } else {
        // The mask is no richer, as kernels before 2026 take pages that were dropped for clean under a richer one.
        request.all_of = request.tell = is_written;
        request.flags = check_protection;
        if (what == look_for::written_and_protect) request.flags |= protect_what_matches;
    }
    errno = ENOTSUP;
    if (!usable()) refuse("this process was forked");
    while (request.start < request.end) {
        make_room(found, regions.size());  // before the kernel forgets what it tells
        const int count = ::ioctl(pagemap_, pagemap_scan, &request);
        if (count < 0) refuse("PAGEMAP_SCAN");
        for (int i = 0; i < count; ++i) {
            const scan_region& each = regions[static_cast<std::size_t>(i)];
            append(found,
                   byte_range{std::max(each.start, first) - first, each.end - first}.clipped_to({0, memory.size()}));
        }
        request.start = request.walk_end;
        if (count > 0 && request.most_pages != 0) return;
    }
}

}  // namespace unibuf::tracking
