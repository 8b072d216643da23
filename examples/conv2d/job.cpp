// conv2d/job.cpp: makes the memory where the application has its pixels.
#include "job.hpp"

#include "unibuf/unibuf.hpp"

namespace conv2d {
namespace {

unibuf::unified_buffer<float> make_buffer(unibuf::space where, extent size, unibuf::host_access access) {
    if (where == unibuf::host) access = unibuf::host_access::read_write;  // the host is the device here
    // Shared placement is asked for, as a device with memory of its own would be given a copy. Every pixel is written
    // before it is read, so none needs to be zero.
    return unibuf::unified_buffer<float>(
        {size.height, size.width},
        {.access = access, .hint = unibuf::memory_hint::coherent, .device = where, .uninitialized = true});
}

}  // namespace

job_on_arrays::job_on_arrays(tally& counts, extent size)
    : counts_(counts), input_(counts, size.pixels()), output_(counts, size.pixels()) {}

void job_on_arrays::write(std::size_t first, std::size_t count, const std::function<void(std::span<float>)>& writer) {
    writer(input_.span().subspan(first, count));
}

void job_on_arrays::read(const std::function<void(std::span<const float>)>& reader) { reader(output_.span()); }

job_on_buffers::job_on_buffers(unibuf::space where, extent size)
    : where_(where),
      input_(make_buffer(where, size, unibuf::host_access::write_only)),
      output_(make_buffer(where, size, unibuf::host_access::read_only)) {}

void job_on_buffers::write(std::size_t first, std::size_t count, const std::function<void(std::span<float>)>& writer) {
    const auto pixels = input_.write(unibuf::host, {.offset = first, .count = count});
    writer(pixels.span());
}

void job_on_buffers::read(const std::function<void(std::span<const float>)>& reader) {
    const auto pixels = output_.read(unibuf::host);
    reader(pixels.span());
}

}  // namespace conv2d
