// backends/opencl/allocation.cpp: writes, reads and fills of a cl_mem.
#include "backends/opencl/allocation.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/pattern.hpp"

namespace unibuf::backends::cl {
std::string allocation::asked(const char* what, std::size_t offset, std::size_t bytes) const {
    return fmt::format("{}: a {} of {} bytes at {} was asked of a memory of {} bytes", in_.description(), what, bytes,
                       offset, bytes_);
}

fence allocation::write(std::size_t offset, std::span<const std::byte> from, queue on) {
    const context::target commands = in_.queue_for(on);
    event done;
    const cl_int status = api().clEnqueueWriteBuffer(commands.queue, native(), no, offset, from.size(), from.data(), 0,
                                                     nullptr, done.out());
    if (status != success) fail(status, asked("write", offset, from.size()));
    return in_.submitted(commands, std::move(done));
}

fence allocation::read(std::size_t offset, std::span<std::byte> to, queue on) {
    const context::target commands = in_.queue_for(on);
    event done;
    const cl_int status =
        api().clEnqueueReadBuffer(commands.queue, native(), no, offset, to.size(), to.data(), 0, nullptr, done.out());
    if (status != success) fail(status, asked("read", offset, to.size()));
    return in_.submitted(commands, std::move(done));
}

void allocation::write_parts(std::span<const part> parts, const std::byte* host, queue on, fences& done) {
    if (copy_at_once(parts, const_cast<std::byte*>(host), direction::to_device, on, done)) return;
    memory::write_parts(parts, host, on, done);
}

void allocation::read_parts(std::span<const part> parts, std::byte* host, queue on, fences& done) {
    if (copy_at_once(parts, host, direction::to_host, on, done)) return;
    memory::read_parts(parts, host, on, done);
}

bool allocation::copy_at_once(std::span<const part> parts, std::byte* host, direction way, queue on, fences& done) {
    if (!in_.runs_native_functions()) return false;
    const context::target commands = in_.queue_for(on);
    event copied;
    const cl_int status = enqueue_copies(commands.queue, native(), host, parts, way, copied);
    if (status != success) fail(status, asked("copy of parts", parts[0].offset, parts[0].bytes));
    done.resize(parts.size(), in_.submitted(commands, std::move(copied)));
    return true;
}

bool allocation::takes_from(const memory& other) const noexcept {
    const auto* const source = dynamic_cast<const allocation*>(&other);
    return source && &source->in_ == &in_;
}

fence allocation::write_from(memory& other, std::size_t from, std::size_t offset, std::size_t bytes, queue on) {
    const context::target commands = in_.queue_for(on);
    event done;
    const cl_int status = api().clEnqueueCopyBuffer(commands.queue, reinterpret_cast<cl_mem>(other.handle()), native(),
                                                    from, offset, bytes, 0, nullptr, done.out());
    if (status != success) fail(status, asked("copy from another memory", offset, bytes));
    return in_.submitted(commands, std::move(done));
}

/// Throws when all that was queued up to `last` is done: nothing of a call that throws goes on.
void allocation::fail_behind(event& last, cl_int status, const std::string& asked_for) {
    if (last) fence_of(std::move(last)).wait();
    fail(status, asked_for);
}

/// Puts copies of slabs on a queue, in order. Where one fails, those before it are waited for.
template <class Enqueue>
void allocation::slab_by_slab(const rectangle_copy& what, const char* asked_for, event& last,
                              const Enqueue& enqueue) const {
    const auto copy = [&](const slab& each) {
        const std::size_t here[] = {each.here.offset, 0, 0};
        const std::size_t there[] = {each.there.offset, 0, 0};
        const std::size_t region[] = {each.row_bytes, each.rows, each.slices};
        event done;
        const cl_int status = enqueue(each, here, there, region, done.out());
        if (status != success) fail_behind(last, status, asked(asked_for, each.here.offset, what.bytes()));
        last = std::move(done);
    };
    for_each_slab(what, [&](slab each) {
        // rusticl of Mesa 25.0 to 26.2 takes a plane for bytes that lie together where both pitches are as many bytes
        // as there are rows, and copies the gaps. Such a plane goes without its last row, which is copied by itself.
        const bool is_mistaken = each.rows == each.here.row_pitch && each.rows == each.there.row_pitch;
        if (!is_mistaken || each.rows == 1) return copy(each);
        slab last_row = each;
        last_row.rows = 1;
        last_row.here.offset += (each.rows - 1) * each.here.row_pitch;
        last_row.there.offset += (each.rows - 1) * each.there.row_pitch;
        --each.rows;
        copy(each);
        copy(last_row);
    });
}

fence allocation::write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) {
    return copy_rows(what, const_cast<std::byte*>(host), direction::to_device, on);
}

fence allocation::read_rectangle(const rectangle_copy& what, std::byte* host, queue on) {
    return copy_rows(what, host, direction::to_host, on);
}

/// Copies rows between the host and this memory. Where the device runs functions of the host, one of them copies many
/// rows: drivers take rows of a few bytes one by one. To start one takes some microseconds more than the driver's call.
fence allocation::copy_rows(const rectangle_copy& what, std::byte* host, direction way, queue on) {
    const context::target commands = in_.queue_for(on);
    event last;
    constexpr std::size_t many = 4096;
    if (what.rows() >= many && in_.runs_native_functions()) {
        const cl_int status = enqueue_copies(commands.queue, native(), host, what, way, last);
        if (status != success) fail(status, asked("copy of rows", what.here.offset, what.bytes()));
        return in_.submitted(commands, std::move(last));
    }
    slab_by_slab(what, "copy of rows", last, [&](const slab& each, auto here, auto there, auto region, cl_event* done) {
        return way == direction::to_device
                   ? api().clEnqueueWriteBufferRect(commands.queue, native(), no, here, there, region,
                                                    each.here.row_pitch, each.here.slice_pitch, each.there.row_pitch,
                                                    each.there.slice_pitch, host, 0, nullptr, done)
                   : api().clEnqueueReadBufferRect(commands.queue, native(), no, here, there, region,
                                                   each.here.row_pitch, each.here.slice_pitch, each.there.row_pitch,
                                                   each.there.slice_pitch, host, 0, nullptr, done);
    });
    return in_.submitted(commands, std::move(last));
}

fence allocation::write_rectangle_from(memory& other, const rectangle_copy& what, queue on) {
    if (&other == this) return memory::write_rectangle_from(other, what, on);  // OpenCL sees overlaps that are none
    const context::target commands = in_.queue_for(on);
    auto* const source = reinterpret_cast<cl_mem>(other.handle());
    event last;
    slab_by_slab(what, "copy of rows from another memory", last,
                 [&](const slab& each, auto here, auto there, auto region, cl_event* done) {
                     return api().clEnqueueCopyBufferRect(commands.queue, source, native(), there, here, region,
                                                          each.there.row_pitch, each.there.slice_pitch,
                                                          each.here.row_pitch, each.here.slice_pitch, 0, nullptr, done);
                 });
    return in_.submitted(commands, std::move(last));
}

fence allocation::fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) {
    const context::target commands = in_.queue_for(on);
    pattern = shortest(pattern);
    event last;
    if (fillable(offset, bytes, pattern.size())) {
        fill_piece(commands.queue, offset, bytes, pattern, last);
        return in_.submitted(commands, std::move(last));
    }
    // Patterns of other sizes and places are put together once of pieces that OpenCL can fill, and then copied on the
    // device: no host memory has to outlive this call, and nothing waits.
    for (std::size_t at = 0; at < pattern.size();) {
        std::size_t piece = 128;
        while (piece > pattern.size() - at || (offset + at) % piece != 0) piece /= 2;
        fill_piece(commands.queue, offset + at, piece, pattern.subspan(at, piece), last);
        at += piece;
    }
    double_up(commands.queue, offset, bytes, pattern.size(), last);
    return in_.submitted(commands, std::move(last));
}

void allocation::fill_piece(cl_command_queue queue, std::size_t offset, std::size_t bytes,
                            std::span<const std::byte> pattern, event& last) {
    event done;
    const cl_int status = api().clEnqueueFillBuffer(queue, native(), pattern.data(), pattern.size(), offset, bytes, 0,
                                                    nullptr, done.out());
    if (status != success) fail_behind(last, status, asked("fill", offset, bytes));
    last = std::move(done);
}

void allocation::double_up(cl_command_queue queue, std::size_t offset, std::size_t bytes, std::size_t done,
                           event& last) {
    while (done < bytes) {
        const std::size_t piece = std::min(done, bytes - done);
        event copied;
        const cl_int status = api().clEnqueueCopyBuffer(queue, native(), native(), offset, offset + done, piece, 0,
                                                        nullptr, copied.out());
        if (status != success) fail_behind(last, status, asked("fill", offset, bytes));
        last = std::move(copied);
        done += piece;
    }
}

}  // namespace unibuf::backends::cl
