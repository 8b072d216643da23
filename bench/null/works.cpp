// bench/null/works.cpp
#include "works.hpp"

#include <dlfcn.h>
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cuda.hpp"

namespace bench::null {
namespace {

using namespace unibuf;

constexpr std::size_t kib = 1024;
constexpr std::size_t mib = kib * kib;
constexpr std::size_t side = 4096;
constexpr std::size_t element = sizeof(std::uint32_t);
constexpr std::uintptr_t device_memory = std::uintptr_t{1} << 32;  // by hand: the null driver takes any address

/// Loads a function that only the null driver has. Throws error(device_unavailable) where another one is loaded.
template <class Function>
Function* of_null_driver(const char* name) {
    void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
    void* const found = driver ? ::dlsym(driver, name) : nullptr;
    if (found) return reinterpret_cast<Function*>(found);
    throw error(
        error_code::device_unavailable,
        "libcuda.so.1 is not the null driver: set LD_LIBRARY_PATH to its folder, bench/null of the build folder");
}

space null_device() {
    of_null_driver<void()>("unibuf_null_reset");
    return space("cuda:0");
}

/// What all works have: the device, and a stream of the program's.
struct place {
    access_options on() const { return {.on = stream.as_queue()}; }
    buffer_options mirrored(bool pinned = false) const {
        return {.hint = memory_hint::gpu_preferred, .device = card, .pinned = pinned};
    }

    space card = null_device();
    cuda::stream stream;
};

/// A buffer whose two copies are current, and as many elements at the host that are copied by hand.
struct both {
    explicit both(std::size_t count, bool pinned = false) : buffer({count}, at.mirrored(pinned)), host(count, 1) {
        buffer.fill(1);
        buffer.read(at.card, at.on()).release();
        at.stream.wait();
    }

    place at;
    unified_buffer<std::uint32_t> buffer;
    std::vector<std::uint32_t> host;
};

work change_named() {
    constexpr std::size_t changed = 1234 * side + 2048;
    auto on = std::make_shared<both>(side * side);
    return {.by_unibuf =
                [on] {
                    on->buffer.write(host, {.offset = changed, .count = 1})[0] += 1;
                    on->buffer.read(on->at.card, on->at.on()).release();
                },
            .by_hand =
                [on] {
                    on->host[changed] += 1;
                    on->at.stream.to_device(device_memory, std::as_bytes(std::span(on->host).subspan(changed, 1)));
                }};
}

work rewrite() {
    auto on = std::make_shared<both>(4 * kib / element);
    return {.by_unibuf =
                [on] {
                    std::ranges::fill(on->buffer.write(host), 2U);
                    on->buffer.read(on->at.card, on->at.on()).release();
                },
            .by_hand =
                [on] {
                    std::ranges::fill(on->host, 2U);
                    on->at.stream.to_device(device_memory, std::as_bytes(std::span(on->host)));
                }};
}

work lease_of_current() {
    auto on = std::make_shared<both>(mib / element);
    return {.by_unibuf = [on] { on->buffer.read(on->at.card, on->at.on()).release(); }, .by_hand = [] {}};
}

/// By hand a program keeps the blocks that it is done with.
work temporary() {
    auto at = std::make_shared<place>();
    auto kept = std::make_shared<std::vector<std::uintptr_t>>(1, device_memory);
    return {.by_unibuf =
                [at] {
                    memory_pool& pool = get_memory_pool();
                    unibuf::buffer block = pool.acquire(mib, at->mirrored());
                    block.write(at->card, at->on()).release();
                    block.read(at->card, at->on()).release();
                    pool.release(std::move(block));
                },
            .by_hand =
                [kept] {
                    const std::uintptr_t block = kept->back();
                    kept->pop_back();
                    kept->push_back(block);
                }};
}

work row() {
    auto on = std::make_shared<both>(side * side);
    constexpr std::size_t begin = 1234 * side;
    return {.by_unibuf = [on] { on->buffer.view(begin, side).read(host).release(); },
            .by_hand =
                [on] {
                    const auto to = std::as_writable_bytes(std::span(on->host).subspan(begin, side));
                    on->at.stream.to_host(to, device_memory);
                    on->at.stream.wait();
                },
            .prepare =
                [on] {
                    on->buffer.read_write(on->at.card, on->at.on()).release();
                    on->at.stream.wait();
                }};
}

work sync_pinned() {
    constexpr std::size_t line = 64;
    auto on = std::make_shared<both>(line / element, true);
    return {.by_unibuf =
                [on] {
                    on->buffer.mark_host_dirty();
                    on->buffer.sync_to_device();
                },
            .by_hand =
                [on] {
                    on->at.stream.to_device(device_memory, std::as_bytes(std::span(on->host)));
                    on->at.stream.wait();
                }};
}

/// By hand the content is copied to pinned memory, and each part from there.
work batch_of_many() {
    constexpr std::size_t count = 10'000;
    struct all {
        place at;
        std::vector<unibuf::buffer> buffers;
        std::vector<std::byte> content = std::vector<std::byte>(count * kib, std::byte{1});
        std::vector<std::byte> pinned = std::vector<std::byte>(count * kib);
    };
    auto on = std::make_shared<all>();
    for (std::size_t i = 0; i < count; ++i) {
        on->buffers.emplace_back(kib, on->at.mirrored()).read(on->at.card).release();
    }
    return {.by_unibuf =
                [on] {
                    batch updates(on->at.card);
                    std::span<const std::byte> rest(on->content);
                    for (unibuf::buffer& each : on->buffers) {
                        updates.write(each, rest.first(kib));
                        rest = rest.subspan(kib);
                    }
                    updates.submit();
                },
            .by_hand =
                [on] {
                    for (std::size_t at = 0; at < on->content.size(); at += kib) {
                        std::memcpy(&on->pinned[at], &on->content[at], kib);
                        on->at.stream.to_device(device_memory + at, std::span(on->pinned).subspan(at, kib));
                    }
                    on->at.stream.wait();
                },
            .times = count};
}

// The goal of most is that of the bookkeeping of a sync on a card (cuda.bookkeeping).
constexpr std::array all = {
    named_work{"change", "one element of 64 MiB, named", 1000, change_named},
    named_work{"rewrite_4k", "4 KiB rewritten", 1000, rewrite},
    named_work{"lease", "a lease of a device's current copy", 300, lease_of_current},
    named_work{"temporary", "a temporary of 1 MiB", 1000, temporary},
    named_work{"row", "a row of 4096 x 4096, read", 1000, row},
    named_work{"sync", "a sync of 64 pinned bytes", 1000, sync_pinned},
    named_work{"batch", "each of 10,000 buffers of 1 KiB in a batch", 500, batch_of_many},
};

}  // namespace

std::span<const named_work> works() { return all; }

unibuf_null_counts counted(const std::function<void()>& run) {
    static auto* const reset = of_null_driver<void()>("unibuf_null_reset");
    static auto* const read = of_null_driver<void(unibuf_null_counts*)>("unibuf_null_read");
    unibuf_null_counts counts{};
    reset();
    run();
    read(&counts);
    return counts;
}

std::vector<std::string> lacking() {
    auto* const name_at = of_null_driver<const char*(std::size_t)>("unibuf_null_lacking");
    std::vector<std::string> names;
    while (const char* const name = name_at(names.size())) names.emplace_back(name);
    return names;
}

}  // namespace bench::null
