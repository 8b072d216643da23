// buffers.cpp: the procedures of gpu_unified_buffers that create buffers and say who has their newest content.
#include <ISO_Fortran_binding.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unibuf/error.hpp>
#include <utility>

#include "creation.hpp"
#include "options.hpp"
#include "report.hpp"
#include "unified.hpp"

using namespace unibuf::fortran;

extern "C" {

handle unibuf_fortran_create(const std::int64_t* size, const int* access, const int* hint, const CFI_cdesc_t* device,
                             int* stat, CFI_cdesc_t* errmsg) {
    return try_to_create(buffers(), stat, errmsg, [&] {
        const std::size_t bytes = size_of(*size);
        const unibuf::space where = gpu_named(text_of(device));
        unibuf::buffer content(bytes, options_of(access, hint, where));
        return std::make_unique<unified>(std::move(content), where);
    });
}

void unibuf_fortran_destroy(const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().remove(*buffer); });
}

int unibuf_fortran_is_valid(const handle* buffer) { return buffers().has(*buffer); }

handle unibuf_fortran_view(const handle* buffer, const std::int64_t* offset, const std::int64_t* size, int* stat,
                           CFI_cdesc_t* errmsg) {
    return create(buffers(), stat, errmsg, [&] { return buffers().get(*buffer).view(extent_of(offset, size)); });
}

handle unibuf_fortran_view_section(const handle* buffer, const CFI_cdesc_t* shape, const CFI_cdesc_t* lower,
                                   const CFI_cdesc_t* upper, const int* element_size, int* stat, CFI_cdesc_t* errmsg) {
    return create(buffers(), stat, errmsg, [&] {
        if (*element_size <= 0) {
            throw unibuf::error(unibuf::error_code::invalid_argument,
                                "elements of " + std::to_string(*element_size) + " bytes were asked for");
        }
        const auto element = static_cast<std::size_t>(*element_size);
        return buffers().get(*buffer).view_section(*shape, *lower, *upper, element);
    });
}

std::int64_t unibuf_fortran_size(const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    std::int64_t size = 0;
    carry_out(stat, errmsg, [&] { size = static_cast<std::int64_t>(buffers().get(*buffer).size()); });
    return size;
}

void* unibuf_fortran_cpu_pointer(const handle* buffer, const int* element_size, int* stat, CFI_cdesc_t* errmsg) {
    void* pointer = nullptr;
    try_out(stat, errmsg, [&] {
        unified& of = buffers().get(*buffer);
        if (*element_size <= 0 || of.size() % static_cast<std::size_t>(*element_size) != 0) {
            throw unibuf::error(unibuf::error_code::invalid_argument, "elements of " + std::to_string(*element_size) +
                                                                          " bytes were asked for, of a buffer of " +
                                                                          std::to_string(of.size()) +
                                                                          " bytes: their size has to divide it");
        }
        pointer = of.host_pointer();
    });
    return pointer;
}

void unibuf_fortran_release_cpu_pointer(const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).release_host_pointers(); });
}

std::intptr_t unibuf_fortran_gpu_handle(const handle* buffer, std::int64_t* offset, int* stat, CFI_cdesc_t* errmsg) {
    unibuf::native_memory native;
    carry_out(stat, errmsg, [&] { native = buffers().get(*buffer).show_to_gpu(); });
    if (offset) *offset = static_cast<std::int64_t>(native.offset);
    return static_cast<std::intptr_t>(native.handle);
}

void unibuf_fortran_release_gpu_handle(const handle* buffer, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).release_gpu_handle(); });
}

void unibuf_fortran_bind(const handle* buffer, const int* binding, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).bind_to_shader(*binding); });
}

void unibuf_fortran_sync_to_gpu(const handle* buffer, const std::int64_t* offset, const std::int64_t* size, int* stat,
                                CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).sync_to_gpu(extent_of(offset, size)); });
}

void unibuf_fortran_sync_from_gpu(const handle* buffer, const std::int64_t* offset, const std::int64_t* size, int* stat,
                                  CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).sync_from_gpu(extent_of(offset, size)); });
}

void unibuf_fortran_mark_host_dirty(const handle* buffer, const std::int64_t* offset, const std::int64_t* size,
                                    int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).mark_host_dirty(extent_of(offset, size)); });
}

void unibuf_fortran_mark_device_dirty(const handle* buffer, const std::int64_t* offset, const std::int64_t* size,
                                      int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).mark_device_dirty(extent_of(offset, size)); });
}

void unibuf_fortran_flush(const handle* buffer, const std::int64_t* offset, const CFI_cdesc_t* size, int* stat,
                          CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        unified& of = buffers().get(*buffer);
        constexpr const char* wanted = "the size of a range is one integer";
        if (!size->base_addr || (size->rank == 1 && size->dim[0].extent != 1)) {
            throw unibuf::error(unibuf::error_code::invalid_argument, wanted);
        }
        const std::int64_t bytes = integer_at(*size, 0, wanted);
        of.sync_to_gpu(extent_of(offset, &bytes));  // what pointers wrote is found
    });
}

}  // extern "C"
