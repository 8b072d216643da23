// pools.cpp: buffers that are used again.
#include <ISO_Fortran_binding.h>

#include <cstdint>
#include <memory>
#include <unibuf/error.hpp>
#include <unibuf/memory_pool.hpp>
#include <utility>

#include "creation.hpp"
#include "options.hpp"
#include "report.hpp"
#include "unified.hpp"

namespace unibuf::fortran {
namespace {

slots<memory_pool>& pools() noexcept {
    static constinit slots<memory_pool> all("a pool");
    return all;
}

/// Laid out as type(pool_statistics).
struct pool_figures {
    std::int64_t hits;
    std::int64_t misses;
    std::int64_t held;
    std::int64_t held_bytes;
    std::int64_t peak_bytes;
};

}  // namespace
}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

handle unibuf_fortran_create_pool(int* stat, CFI_cdesc_t* errmsg) {
    return create(pools(), stat, errmsg, [] { return std::make_unique<unibuf::memory_pool>(); });
}

void unibuf_fortran_destroy_pool(const handle* pool, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { pools().remove(*pool); });
}

handle unibuf_fortran_pool_acquire(const handle* pool, const std::int64_t* size, const int* access, const int* hint,
                                   const CFI_cdesc_t* device, int* stat, CFI_cdesc_t* errmsg) {
    return try_to_create(buffers(), stat, errmsg, [&] {
        const unibuf::space where = gpu_named(text_of(device));
        unibuf::buffer content = pools().get(*pool).acquire(size_of(*size), options_of(access, hint, where));
        return std::make_unique<unified>(std::move(content), where);
    });
}

void unibuf_fortran_pool_release(const handle* pool, const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        unibuf::memory_pool& into = pools().get(*pool);
        buffers().get(*buffer).release_to(into);
        buffers().remove(*buffer);
    });
}

void unibuf_fortran_pool_reserve(const handle* pool, const int* count, const std::int64_t* size, const int* access,
                                 const int* hint, const CFI_cdesc_t* device, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const unibuf::space where = gpu_named(text_of(device));
        pools().get(*pool).reserve(size_of(*count), size_of(*size), where, options_of(access, hint, where));
    });
}

void unibuf_fortran_pool_trim(const handle* pool, const std::int64_t* bytes, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { pools().get(*pool).trim(bytes ? extent_of(nullptr, bytes).bytes : 0); });
}

pool_figures unibuf_fortran_pool_statistics(const handle* pool, int* stat, CFI_cdesc_t* errmsg) {
    pool_figures figures{};
    carry_out(stat, errmsg, [&] {
        const unibuf::pool_statistics found = pools().get(*pool).statistics();
        const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
        figures = {number(found.hits), number(found.misses), number(found.held), number(found.held_bytes),
                   number(found.peak_bytes)};
    });
    return figures;
}

}  // extern "C"
