// fences.cpp: the procedures of gpu_fence_primitives.
#include <ISO_Fortran_binding.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unibuf/error.hpp>
#include <unibuf/fence.hpp>

#include "creation.hpp"
#include "gpu.hpp"
#include "options.hpp"
#include "report.hpp"

namespace unibuf::fortran {
namespace {

slots<fence>& fences() noexcept {
    static constinit slots<fence> all("a fence");
    return all;
}

}  // namespace
}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

handle unibuf_fortran_create_fence(const CFI_cdesc_t* device, int* stat, CFI_cdesc_t* errmsg) {
    return create(fences(), stat, errmsg, [&] {
        const gpu at = gpu_at(gpu_named(text_of(device)));
        return std::make_unique<unibuf::fence>(unibuf::record_fence(at.where, at.on));
    });
}

/// Waits for a fence. Where time is up, `done` takes the place of the error.
void unibuf_fortran_wait_fence(const handle* fence, const std::int64_t* timeout, int* done, int* stat) {
    carry_out(stat, nullptr, [&] {
        const bool reached = fences().get(*fence).wait(timeout_of(timeout));
        if (done) *done = reached ? 1 : 0;
        if (reached || done) return;
        throw unibuf::error(unibuf::error_code::timeout,
                            "the work before a fence was not done after " + std::to_string(*timeout) + " ns");
    });
}

int unibuf_fortran_fence_is_valid(const handle* fence) { return fences().has(*fence); }

void unibuf_fortran_destroy_fence(const handle* fence, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { fences().remove(*fence); });
}

}  // extern "C"
