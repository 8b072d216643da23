// bench/cost/host.cpp: accesses of a current copy at the host, and what is made for them.
#include <unibuf/unibuf.hpp>

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "count.hpp"
#include "operation.hpp"

namespace cost::host {
namespace {

using unibuf::unified_buffer;

constexpr std::size_t elements = 1024;
constexpr std::size_t bytes = std::size_t{64} << 10;  // of a buffer of a pool

const operation pointer("access.host", [](const char* name) {
    unified_buffer<float> buffer(elements);
    buffer.host();
    count(name, [&] { use(buffer.host()); });
});

const operation pointer_to_read("access.host_to_read", [](const char* name) {
    unified_buffer<float> buffer(elements);
    buffer.fill(1);
    const unified_buffer<float>& to_read = buffer;
    count(name, [&] { use(to_read.host()); });
});

const operation read_lease("lease.read", [](const char* name) {
    unified_buffer<float> buffer(elements);
    buffer.fill(1);
    count(name, [&] { use(buffer.read(unibuf::host).data()); });
});

const operation write_lease("lease.write", [](const char* name) {
    unified_buffer<float> buffer(elements);
    buffer.fill(1);
    count(name, [&] { use(buffer.write(unibuf::host).data()); });
});

const operation construct("buffer.construct", [](const char* name) {
    count(name, [] {
        const unified_buffer<float> buffer({64, 64});
        use(&buffer);
    });
});

const operation first_access("buffer.first_host", [](const char* name) {
    const std::vector<std::byte> content(4096, std::byte{1});
    count(name, [&] {
        unibuf::buffer made(content.size());
        std::memcpy(made.write(unibuf::host).data(), content.data(), content.size());
    });
});

const operation pair("pool.pair", [](const char* name) {
    unibuf::memory_pool pool;
    pool.reserve(1, bytes);
    count(name, [&] { pool.release(pool.acquire(bytes)); });
});

const operation used_pair("pool.pair.used", [](const char* name) {
    unibuf::memory_pool pool;
    count(name, [&] {
        unibuf::buffer taken = pool.acquire(bytes);
        use(taken.write(unibuf::host).data());
        pool.release(std::move(taken));
    });
});

}  // namespace
}  // namespace cost::host
