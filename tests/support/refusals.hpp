// support/refusals.hpp: system calls that are refused from now on, as containers and older kernels refuse them. Linux.
#pragma once

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace unibuf::test {

/// A system call that fails with `error`; where `command` is not 0, for that command of ioctl alone.
struct refusal {
    std::string_view name;
    std::uint32_t call;
    std::uint32_t command;
    std::uint32_t error;
};

inline constexpr refusal refusals[] = {
    {"call", __NR_userfaultfd, 0, EPERM},      // as Docker's and Podman's filters do
    {"device", __NR_ioctl, 0xAA00, EPERM},     // of /dev/userfaultfd, as where the container has none
    {"scan", __NR_ioctl, 0xC0606610, ENOTTY},  // PAGEMAP_SCAN, as kernels before 6.7 answer
};

/// Refuses what is named in `names`, apart by commas, to this process and to those that it starts. Returns false where
/// a name is none of them, or the kernel takes no filter.
inline bool refuse(std::string_view names) {
    constexpr auto load = [](std::size_t offset) {
        return sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
    };
    constexpr auto skip_unless = [](std::uint32_t value, std::uint8_t count) {
        return sock_filter(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
    };
    std::vector<sock_filter> steps;
    while (!names.empty()) {
        const std::string_view name = names.substr(0, names.find(','));
        names.remove_prefix(name.size() == names.size() ? name.size() : name.size() + 1);
        bool is_known = false;
        for (const refusal& each : refusals) {
            if (each.name != name) continue;
            is_known = true;
            const sock_filter answer = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | each.error);
            steps.push_back(load(offsetof(seccomp_data, nr)));
            if (each.command == 0) {
                steps.insert(steps.end(), {skip_unless(each.call, 1), answer});
            } else {
                steps.insert(steps.end(), {skip_unless(each.call, 3), load(offsetof(seccomp_data, args[1])),
                                           skip_unless(each.command, 1), answer});
            }
        }
        if (!is_known) return false;
    }
    steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace unibuf::test
