// section.cpp: an array as a Fortran program passes it, which may be a part of another.
#include "section.hpp"

#include <array>
#include <cstring>
#include <unibuf/error.hpp>

namespace unibuf::fortran {

section::section(const CFI_cdesc_t& of) : of_(of), bytes_(of.elem_len), run_bytes_(of.elem_len), run_axes_(0) {
    bool together = true;
    for (int axis = 0; axis < of.rank; ++axis) {
        const auto& [lower, extent, stride] = of.dim[axis];
        if (extent < 0 && of.base_addr) {
            throw error(error_code::invalid_argument,
                        "an assumed-size array has no last extent: pass a section of it, as in a(1:n)");
        }
        together = together && (stride == static_cast<CFI_index_t>(run_bytes_) || extent == 1);
        if (together) {
            run_bytes_ *= static_cast<std::size_t>(extent);
            ++run_axes_;
        }
        bytes_ *= static_cast<std::size_t>(extent);
    }
    // A constructor of no elements has no address either.
    if (!of.base_addr && bytes_ != 0) {
        throw error(error_code::invalid_argument, "what was given is not allocated, or not associated");
    }
}

const std::byte* section::contiguous() const noexcept {
    return run_axes_ == of_.rank && bytes_ != 0 ? static_cast<const std::byte*>(of_.base_addr) : nullptr;
}

template <class Copy>
void section::for_each_run(const Copy& copy) const noexcept {
    if (bytes_ == 0) return;
    std::array<CFI_index_t, CFI_MAX_RANK> index{};
    auto* at = static_cast<std::byte*>(of_.base_addr);
    for (;;) {
        copy(at, run_bytes_);
        int axis = run_axes_;
        for (; axis < of_.rank; ++axis) {
            const auto& dimension = of_.dim[axis];
            at += dimension.sm;
            if (++index[static_cast<std::size_t>(axis)] < dimension.extent) break;
            at -= dimension.sm * dimension.extent;
            index[static_cast<std::size_t>(axis)] = 0;
        }
        if (axis == of_.rank) return;
    }
}

void section::gather(std::byte* to) const noexcept {
    for_each_run([&](const std::byte* at, std::size_t bytes) {
        std::memcpy(to, at, bytes);
        to += bytes;
    });
}

void section::scatter(const std::byte* from) const noexcept {
    for_each_run([&](std::byte* at, std::size_t bytes) {
        std::memcpy(at, from, bytes);
        from += bytes;
    });
}

std::int64_t integer_at(const CFI_cdesc_t& of, std::size_t index, const char* wanted) {
    const auto* at = static_cast<const std::byte*>(of.base_addr);
    if (of.rank == 1) at += of.dim[0].sm * static_cast<CFI_index_t>(index);
    const auto as = [&]<class T>(T value) {
        std::memcpy(&value, at, sizeof(T));
        return static_cast<std::int64_t>(value);
    };
    switch (of.rank <= 1 ? of.type : CFI_type_other) {
        case CFI_type_int8_t:
            return as(std::int8_t{});
        case CFI_type_int16_t:
            return as(std::int16_t{});
        case CFI_type_int32_t:
            return as(std::int32_t{});
        case CFI_type_int64_t:
            return as(std::int64_t{});
        default:
            throw error(error_code::invalid_argument, wanted);
    }
}

}  // namespace unibuf::fortran
