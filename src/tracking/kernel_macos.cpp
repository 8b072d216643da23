// tracking/kernel_macos.cpp: there is no such tracking. A write to a protected page is told of by an exception only,
// which the program may handle itself. So small buffers are compared, and of others all is assumed to be written.
#include "process/forks.hpp"
#include "tracking/kernel.hpp"

namespace unibuf::tracking {

kernel::kernel() : forks_(process::forks()), refused_(open()) {}

std::optional<kernel::refusal> kernel::open() {
    if (is_off()) return refusal{"UNIBUF_TRACKING is off"};
    if (is_by_digest()) return refusal{"UNIBUF_TRACKING is digest: contents are compared with what was sent"};
    if (is_by_signal()) return refusal{"UNIBUF_TRACKING=signal is for Linux"};
    return refusal{"macOS tells of writes by exceptions alone, which are the program's"};
}

bool kernel::add_common(std::span<std::byte>) noexcept { return false; }
void kernel::remove_common(std::span<std::byte>) noexcept {}
bool kernel::add(std::span<std::byte>) noexcept { return false; }

// Nothing was added that these could be called for.
void kernel::remove(std::span<std::byte>) noexcept {}
void kernel::protect(std::span<std::byte>, bool) const {}
void kernel::unprotect(std::span<std::byte>) const noexcept {}
void kernel::protect_again(std::span<std::byte>) const noexcept {}
void kernel::open(std::span<std::byte>) const noexcept {}
void kernel::close(std::span<std::byte>) const noexcept {}
void kernel::scan(std::span<std::byte>, look_for, std::span<const std::byte>, std::vector<byte_range>&,
                  std::size_t) const {}

}  // namespace unibuf::tracking
