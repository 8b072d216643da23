// pool.cpp: buffers that are used again.
#include <cstddef>
#include <unibuf/memory_pool.hpp>
#include <utility>

#include "convert.hpp"
#include "handles.hpp"

struct unibuf_pool {
    unibuf::memory_pool* buffers;  // the pool that the handle owns; null for the process's pool
};

namespace unibuf::c {
namespace {

// The process's pool is made by the first call that can say that there was no memory for it.
constinit unibuf_pool shared_pool{nullptr};

memory_pool& buffers_of(const unibuf_pool* pool) {
    memory_pool* const own = given(pool, "a pool").buffers;
    return own ? *own : get_memory_pool();
}

}  // namespace
}  // namespace unibuf::c

using namespace unibuf::c;

unibuf_status unibuf_pool_create(unibuf_pool** pool) {
    return attempt([&] { hand_out(pool, "a place for the pool", [] { return new unibuf::memory_pool; }); });
}

void unibuf_pool_destroy(unibuf_pool* pool) {
    if (!pool || pool == &shared_pool) return;
    delete pool->buffers;
    delete pool;
}

unibuf_pool* unibuf_pool_shared(void) { return &shared_pool; }

unibuf_status unibuf_pool_acquire(unibuf_pool* pool, size_t bytes, const unibuf_options* options,
                                  unibuf_buffer** buffer) {
    return attempt([&] {
        hand_out(buffer, "a place for the buffer",
                 [&] { return buffers_of(pool).acquire(bytes, options_of(options)); });
    });
}

unibuf_status unibuf_pool_release(unibuf_pool* pool, unibuf_buffer* buffer) {
    return attempt([&] {
        unibuf::memory_pool& buffers = buffers_of(pool);
        if (!buffer) return;
        buffers.release(std::move(buffer->bytes));
        delete buffer;
    });
}

unibuf_status unibuf_pool_reserve(unibuf_pool* pool, size_t count, size_t bytes, unibuf_space where,
                                  const unibuf_options* options) {
    return attempt([&] { buffers_of(pool).reserve(count, bytes, space_of(where), options_of(options)); });
}

unibuf_status unibuf_pool_trim(unibuf_pool* pool, uint64_t bytes) {
    return attempt([&] { buffers_of(pool).trim(bytes); });
}

unibuf_status unibuf_pool_limit(unibuf_pool* pool, uint64_t bytes) {
    return attempt([&] { buffers_of(pool).limit(bytes); });
}

unibuf_status unibuf_pool_statistics_of(const unibuf_pool* pool, unibuf_pool_statistics* statistics) {
    return attempt([&] {
        unibuf_pool_statistics& result = given(statistics, "a place for the statistics");
        const unibuf::pool_statistics found = buffers_of(pool).statistics();
        result = {.hits = found.hits,
                  .misses = found.misses,
                  .held = found.held,
                  .held_bytes = found.held_bytes,
                  .peak_bytes = found.peak_bytes};
    });
}
