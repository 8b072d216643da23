// contents.cpp: arrays of the program, in and out of buffers.
#include <ISO_Fortran_binding.h>

#include <cstdint>
#include <string>
#include <unibuf/error.hpp>

#include "pointers.hpp"
#include "report.hpp"
#include "unified.hpp"

namespace unibuf::fortran {
namespace {

void check_fills(const unified& part, const section& data) {
    if (data.bytes() == part.size()) return;
    throw error(error_code::out_of_range, std::to_string(data.bytes() / data.element_bytes()) +
                                              " elements were given for a section of " +
                                              std::to_string(part.size() / data.element_bytes()));
}

}  // namespace
}  // namespace unibuf::fortran

using namespace unibuf::fortran;

extern "C" {

void unibuf_fortran_write(const handle* buffer, const CFI_cdesc_t* data, const std::int64_t* offset, int* stat,
                          CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).write(section(*data), offset ? *offset : 0); });
}

void unibuf_fortran_read(const handle* buffer, const CFI_cdesc_t* data, const std::int64_t* offset, int* stat,
                         CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).read(section(*data), offset ? *offset : 0); });
}

void unibuf_fortran_write_section(const handle* buffer, const CFI_cdesc_t* data, const CFI_cdesc_t* shape,
                                  const CFI_cdesc_t* lower, const CFI_cdesc_t* upper, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const section from(*data);
        const auto part = buffers().get(*buffer).view_section(*shape, *lower, *upper, from.element_bytes());
        check_fills(*part, from);
        part->write(from, 0);
    });
}

void unibuf_fortran_read_section(const handle* buffer, const CFI_cdesc_t* data, const CFI_cdesc_t* shape,
                                 const CFI_cdesc_t* lower, const CFI_cdesc_t* upper, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        const section to(*data);
        const auto part = buffers().get(*buffer).view_section(*shape, *lower, *upper, to.element_bytes());
        check_fills(*part, to);
        part->read(to, 0);
    });
}

void unibuf_fortran_fill(const handle* buffer, const CFI_cdesc_t* value, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] { buffers().get(*buffer).fill(section(*value)); });
}

void unibuf_fortran_get_pointer(const handle* buffer, CFI_cdesc_t* pointer, const CFI_cdesc_t* shape,
                                const std::int64_t* offset, int* stat, CFI_cdesc_t* errmsg) {
    carry_out(stat, errmsg, [&] {
        unified& of = buffers().get(*buffer);
        if (const section_layout* const lies = of.layout()) {
            return associate(*pointer, *lies, shape, of.host_pointer());
        }
        const shaped_range wanted(of.size(), pointer->elem_len, pointer->rank, shape, offset ? *offset : 0);
        associate(*pointer, wanted, of.host_pointer());
    });
}

void unibuf_fortran_locate(const handle* buffer, const int* rank, const int* element_size, const CFI_cdesc_t* shape,
                           const std::int64_t* offset, void** address, std::int64_t* extents, int* stat) {
    carry_out(stat, nullptr, [&] {
        unified& of = buffers().get(*buffer);
        check_together(of.layout());
        const auto each = static_cast<std::size_t>(*element_size);
        const shaped_range wanted(of.size(), each, *rank, shape, offset ? *offset : 0);
        for (int axis = 0; axis < *rank; ++axis) extents[axis] = wanted.extent(axis);
        *address = of.host_pointer() + wanted.offset();
    });
}

}  // extern "C"
