// batches.cpp: syncs of a thread that move together.
#include "batches.hpp"

#include <ISO_Fortran_binding.h>

#include <memory>
#include <unibuf/batch.hpp>
#include <unibuf/error.hpp>

#include "gpu.hpp"
#include "report.hpp"

namespace unibuf::fortran {

namespace {

struct open_batch {
    explicit open_batch(space to) : ranges(to), collecting(ranges) {}

    batch ranges;
    batch::scope collecting;
};

thread_local std::unique_ptr<open_batch> open;

}  // namespace

bool batch_is_open() noexcept { return open != nullptr; }

}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

void unibuf_fortran_begin_batch(const CFI_cdesc_t* device, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        if (open)
            throw unibuf::error(unibuf::error_code::invalid_argument, "this thread has a batch that has not ended");
        open = std::make_unique<open_batch>(gpu_named(text_of(device)));
    });
}

void unibuf_fortran_end_batch(int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [] {
        if (!open) throw unibuf::error(unibuf::error_code::invalid_argument, "this thread has begun no batch");
        const std::unique_ptr<open_batch> ending = std::move(open);
        ending->ranges.submit();
    });
}

}  // extern "C"
