// bench/cost/device.cpp: accesses at a device, and the transfers before them.
#include <unibuf/unibuf.hpp>

#include <chrono>
#include <cstddef>

#include "count.hpp"
#include "operation.hpp"

namespace cost::device {
namespace {

using unibuf::unified_buffer;

constexpr std::size_t elements = 1024;

/// A buffer whose copies at the host and at the default device, which is `where` from then on, are current.
unified_buffer<float> with_two_copies(std::size_t of = elements, const char* where = "debug:0") {
    unibuf::set_default_device(unibuf::space(where));
    unified_buffer<float> buffer(of);
    buffer.fill(1);
    buffer.sync_to_device();
    return buffer;
}

const operation handle("access.device", [](const char* name) {
    unified_buffer<float> buffer = with_two_copies();
    count(name, [&] { use(buffer.device().handle); });
});

/// Counts a mark and the sync that it makes necessary, which finds the work of the one before done, whatever threads of
/// the driver do meanwhile.
void count_sync(const char* name, const char* where) {
    unified_buffer<float> buffer = with_two_copies(16, where);
    const auto prepare = [where = unibuf::space(where)] { unibuf::record_fence(where).wait(std::chrono::minutes(1)); };
    count(name, prepare, [&] {
        buffer.mark_host_dirty();
        buffer.sync_to_device();
    });
}

const operation sync_at_debug("sync.debug", [](const char* name) { count_sync(name, "debug:0"); });
const operation sync_at_cuda("sync.cuda", [](const char* name) { count_sync(name, "cuda:0"); });

/// Counts two marks, each of which takes the newest content to the other side.
const operation marks("mark.in_turns", [](const char* name) {
    unified_buffer<float> buffer = with_two_copies();
    count(name, [&] {
        buffer.mark_device_dirty();
        buffer.mark_host_dirty();
    });
});

void count_lease(const char* name, const char* where) {
    const unibuf::space device(where);
    unified_buffer<float> buffer(elements);
    buffer.fill(1);
    use(buffer.read(device).native().handle);
    count(name, [&] { use(buffer.read(device).native().handle); });
}

const operation debug_lease("lease.debug", [](const char* name) { count_lease(name, "debug:0"); });
const operation cuda_lease("lease.cuda", [](const char* name) { count_lease(name, "cuda:0"); });

/// Counts the access at the device that finds one element written through a pointer, and brings what was found.
/// `next` says which element is written before each.
template <class Next>
void count_found(const char* name, std::size_t of, const Next& next) {
    unified_buffer<float> buffer = with_two_copies(of);
    float* const out = buffer.host();
    use(buffer.device().handle);
    if (!buffer.placement(unibuf::host).writes_found) {
        throw unibuf::error(unibuf::error_code::device_unavailable,
                            "the kernel does not find writes here: Linux 6.7 does, where userfaultfd is allowed");
    }
    std::size_t round = 0;
    count(name, [&] { out[next(++round)] += 1; }, [&] { use(buffer.device().handle); });
}

constexpr std::size_t large = std::size_t{16} << 20;  // elements: 64 MiB
constexpr std::size_t page = 1024;

const operation found_by_comparing("found.compared", [](const char* name) {
    count_found(name, elements, [](std::size_t) { return std::size_t{100}; });
});

const operation found_in_a_page("found.page", [](const char* name) {
    count_found(name, large, [](std::size_t round) { return round * 2 * page; });
});

const operation found_in_a_hot_page("found.hot_page", [](const char* name) {
    count_found(name, large, [](std::size_t) { return large / 2; });
});

}  // namespace
}  // namespace cost::device
