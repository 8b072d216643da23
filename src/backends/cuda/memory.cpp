// backends/cuda/memory.cpp: a range of device addresses, and what can be done with it.
#include "backends/cuda/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "backends/many_fences.hpp"
#include "backends/pattern.hpp"

namespace unibuf::backends::cuda {
namespace {

// To ask the driver whether less is pinned costs as much as to copy it.
constexpr std::size_t worth_asking = std::size_t{8} << 10;

// A copy of its own costs as much as to bring less to the others of many.
constexpr std::size_t worth_a_copy = std::size_t{64} << 10;

template <class Value>
Value value_of(std::span<const std::byte> pattern) noexcept {
    Value value{};
    std::memcpy(&value, pattern.data(), sizeof value);
    return value;
}

/// Returns whether the driver knows the host's memory at both ends of the piece. In between it may be that of two
/// allocations: the driver refuses to copy that.
bool is_pinned(const piece& one) {
    const auto is_known = [](const std::byte* host) {
        constexpr int memory_type = 2;  // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
        unsigned type = 0;
        return api().cuPointerGetAttribute(&type, memory_type, reinterpret_cast<device_pointer>(host)) == success;
    };
    return is_known(one.host) && is_known(one.host + one.bytes - 1);
}

/// Returns the host's bytes from the first piece to the last: they are in order.
std::span<const std::byte> host_bytes(std::span<const piece> pieces) noexcept {
    return {pieces.front().host, pieces.back().host + pieces.back().bytes};
}
std::span<const std::byte> host_bytes(const plane& of) noexcept {
    return {of.row.host, of.row.bytes + (of.rows - 1) * of.host_pitch};
}

/// Returns whether unibuf itself has pinned the bytes.
template <class What>
bool is_known_pinned(const What& what) {
    return pinned_pages::cover(host_bytes(what));
}

/// Returns whether the pieces are pinned.
bool are_pinned(std::span<const piece> pieces) {
    return is_known_pinned(pieces) || std::ranges::all_of(pieces, is_pinned);
}

/// Returns whether the rows are pinned, as far as the first and the last tell.
bool are_pinned(const plane& of) {
    piece all = of.row;
    all.bytes = host_bytes(of).size();
    return is_known_pinned(of) || is_pinned(all);
}

std::size_t bytes_of(const plane& rows) noexcept { return rows.bytes(); }

/// Returns whether the driver copies from, or to, the host's memory itself. A short write takes the detour where it
/// would have to be asked: the host's memory is free for others at once then.
template <class What>
bool is_direct(direction way, const What& what) {
    if (way == direction::to_device && bytes_of(what) < worth_asking) return is_known_pinned(what);
    return are_pinned(what);
}

/// Carries by way of the ring. Returns a fence after what has not arrived when this returns.
template <class What>
fence by_detour(staging& ring, direction way, const What& what, stream_handle stream) {
    if (way == direction::to_host) {
        ring.read(what, stream);
        return {};
    }
    fence copied = ring.write(what, stream);
    if (auto* const work = dynamic_cast<upload_work*>(copied.native())) work->note_all_taken();
    return copied;
}

device_pointer begin_of(std::span<const piece> pieces) noexcept { return pieces[0].at; }
device_pointer begin_of(const plane& rows) noexcept { return rows.row.at; }

}  // namespace

std::string device_range::asked(const char* what, std::size_t offset, std::size_t bytes) const {
    return fmt::format("a {} of {} bytes at {} was asked of a memory of {} bytes", what, bytes, offset, bytes_);
}

fence device_range::write(std::size_t offset, std::span<const std::byte> from, queue on) {
    const piece all = piece_at(offset, from);
    return carry(direction::to_device, std::span<const piece>(&all, 1), on);
}

fence device_range::read(std::size_t offset, std::span<std::byte> to, queue on) {
    const piece all = piece_at(offset, to);
    return carry(direction::to_host, std::span<const piece>(&all, 1), on);
}

void device_range::write_parts(std::span<const part> parts, const std::byte* host, queue on, fences& done) {
    const std::vector<piece> pieces = pieces_of(parts, const_cast<std::byte*>(host));
    done.resize(parts.size(), carry(direction::to_device, std::span<const piece>(pieces), on));
}

void device_range::read_parts(std::span<const part> parts, std::byte* host, queue on, fences& done) {
    const std::vector<piece> pieces = pieces_of(parts, host);
    done.resize(parts.size(), carry(direction::to_host, std::span<const piece>(pieces), on));
}

std::vector<piece> device_range::pieces_of(std::span<const part> parts, std::byte* host) const {
    std::vector<piece> pieces;
    pieces.reserve(parts.size());
    for (const part& each : parts) pieces.push_back(piece_at(each.offset, {host + each.offset, each.bytes}));
    return pieces;
}

template <class What>
fence device_range::carry(direction way, const What& what, queue on) {
    const context::scope current(in_);
    const stream_handle stream = in_.stream_for(on);
    return in_.all_or_nothing(stream, [&] {
        if (is_direct(way, what)) {
            const bool batches = in_.attribute(can_use_registered_addresses) != 0;
            const result status = enqueue(way, what, batches, stream);
            if (status == success) return in_.mark(stream);
            const char* const asked_for = way == direction::to_device ? "write" : "read";
            if (status != invalid_value) in_.check(status, asked(asked_for, begin_of(what) - address_, bytes_of(what)));
            // What the driver does not take, as it is of two allocations, takes the detour.
        }
        return by_detour(ring_, way, what, stream);
    });
}

fence device_range::write_rectangle(const rectangle_copy& what, const std::byte* host, queue on) {
    return carry_rows(direction::to_device, what, const_cast<std::byte*>(host), on);
}

fence device_range::read_rectangle(const rectangle_copy& what, std::byte* host, queue on) {
    return carry_rows(direction::to_host, what, host, on);
}

/// Carries one plane after the other.
fence device_range::carry_rows(direction way, const rectangle_copy& what, std::byte* host, queue on) {
    const rectangle_copy folded = what.folded();
    const std::size_t outer = folded.axes == 0 ? 0 : folded.axes - 1;
    plane each{.rows = folded.axes == 0 ? 1 : folded.counts[outer],
               .device_pitch = folded.here.pitches[outer],
               .host_pitch = folded.there.pitches[outer]};
    many_fences started;
    folded.for_each_index(outer, [&](std::size_t here, std::size_t there) {
        each.row = piece_at(here, {host + there, folded.row_bytes});
        started.add([&] { return carry_plane(way, each, on); });
    });
    return std::move(started).all();
}

/// Rows that are very long, or very far apart, are copies of their own.
fence device_range::carry_plane(direction way, const plane& of, queue on) {
    const bool is_one_copy = of.rows > 1 && of.device_pitch <= most_pitch && of.host_pitch <= most_pitch &&
                             of.row.bytes <= pinned_ring::block_bytes;
    if (is_one_copy) return carry(way, of, on);
    std::vector<piece> rows(of.rows, of.row);
    for (std::size_t row = 1; row < of.rows; ++row) {
        rows[row].at += row * of.device_pitch;
        rows[row].host += row * of.host_pitch;
    }
    return carry(way, std::span<const piece>(rows), on);
}

/// Within a device the driver copies one plane after the other; between two it copies row by row.
fence device_range::write_rectangle_from(memory& other, const rectangle_copy& what, queue on) {
    auto& source = dynamic_cast<device_range&>(other);
    const rectangle_copy rows = what.folded();
    const std::size_t outer = rows.axes == 0 ? 0 : rows.axes - 1;
    const bool is_far = rows.here.pitches[outer] > most_pitch || rows.there.pitches[outer] > most_pitch;
    if (&source.in_ != &in_ || is_far) return memory::write_rectangle_from(other, what, on);
    const context::scope current(in_);
    const stream_handle stream = in_.stream_for(on);
    return in_.queued(stream, [&] {
        rows.for_each_index(outer, [&](std::size_t here, std::size_t there) {
            rectangle plane{};
            plane.width = rows.row_bytes;
            plane.height = rows.axes == 0 ? 1 : rows.counts[outer];
            plane.source = {.memory = memory_of_device, .device = source.address_ + there};
            plane.target = {.memory = memory_of_device, .device = address_ + here};
            plane.source.pitch = rows.axes == 0 ? rows.row_bytes : rows.there.pitches[outer];
            plane.target.pitch = rows.axes == 0 ? rows.row_bytes : rows.here.pitches[outer];
            in_.check(api().cuMemcpy2DAsync(&plane, stream), asked("copy of rows", what.here.offset, what.bytes()));
        });
    });
}

void device_range::capture_write(std::size_t offset, std::span<const std::byte> from, queue on) {
    const context::scope current(in_);
    const stream_handle stream = in_.captured_stream(on);
    if (from.empty() || host_address()) return;  // the device reads the host's memory itself
    const piece all = piece_at(offset, from);
    if (!is_pinned(all)) {
        throw error(error_code::unsupported,
                    asked("captured write", offset, from.size()) +
                        ": the host's memory is not pinned, and what a graph copies at each launch has to be");
    }
    in_.check(enqueue(direction::to_device, {&all, 1}, false, stream), asked("captured write", offset, from.size()));
}

transfer_route device_range::route_of(std::span<const std::byte> host) const noexcept {
    const piece all{.at = address_, .host = const_cast<std::byte*>(host.data()), .bytes = host.size()};
    return are_pinned({&all, 1}) ? transfer_route::pinned : transfer_route::staged;
}

bool device_range::takes_from(const memory& other) const noexcept {
    return dynamic_cast<const device_range*>(&other) != nullptr;
}

/// The driver copies, and stages by itself where the devices do not reach each other.
fence device_range::write_from(memory& other, std::size_t from, std::size_t offset, std::size_t bytes, queue on) {
    auto& source = dynamic_cast<device_range&>(other);
    const context::scope current(in_);
    const stream_handle stream = in_.stream_for(on);
    const device_pointer begin = source.address_ + from;
    if (&source.in_ != &in_) in_.reach(source.in_);
    return in_.queued(stream, [&] {
        const result status = &source.in_ == &in_ ? api().cuMemcpyDtoDAsync(address_ + offset, begin, bytes, stream)
                                                  : api().cuMemcpyPeerAsync(address_ + offset, in_.native(), begin,
                                                                            source.in_.native(), bytes, stream);
        in_.check(status, asked("copy from another memory", offset, bytes));
    });
}

fence device_range::fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) {
    const context::scope current(in_);
    const stream_handle stream = in_.stream_for(on);
    pattern = shortest(pattern);
    const device_pointer to = address_ + offset;
    return in_.queued(stream, [&] {
        if (fill_at_once(to, bytes, pattern, stream)) return;
        std::vector<std::byte> own(pattern.begin(), pattern.end());
        const piece first{allocation_, to, own.data(), own.size()};
        ring_.write({&first, 1}, stream);
        for (std::size_t done = pattern.size(); done < bytes;) {
            const std::size_t piece = std::min(done, bytes - done);
            in_.check(api().cuMemcpyDtoDAsync(to + done, to, piece, stream), asked("fill", offset, bytes));
            done += piece;
        }
    });
}

/// Fills with patterns of one, two and four bytes, which are the driver's own; false for others.
bool device_range::fill_at_once(device_pointer to, std::size_t bytes, std::span<const std::byte> pattern,
                                stream_handle stream) {
    const std::size_t size = pattern.size();
    if (to % size != 0) return false;
    result status = invalid_value;
    switch (size) {
        case 1:
            status = api().cuMemsetD8Async(to, value_of<unsigned char>(pattern), bytes, stream);
            break;
        case 2:
            status = api().cuMemsetD16Async(to, value_of<unsigned short>(pattern), bytes / size, stream);
            break;
        case 4:
            status = api().cuMemsetD32Async(to, value_of<unsigned>(pattern), bytes / size, stream);
            break;
        default:
            return false;
    }
    in_.check(status, fmt::format("a fill of {} bytes", bytes));
    return true;
}

/// Small pieces take the ring whether they are pinned or not.
fence carry_many(context& in, staging& ring, direction way, std::span<const move_of> moves) {
    const context::scope current(in);
    const stream_handle stream = in.stream_for({});
    return in.all_or_nothing(stream, [&] {
        std::vector<piece> staged;
        for (const auto& [of, offset, host] : moves) {
            const piece made = dynamic_cast<device_range&>(*of).piece_at(offset, host);
            const bool pinned = made.bytes > worth_a_copy && is_pinned(made);
            const result status = pinned ? enqueue(way, {&made, 1}, pinned, stream) : invalid_value;
            if (status == invalid_value) {
                staged.push_back(made);
            } else {
                in.check(status, fmt::format("a copy of {} bytes", made.bytes));
            }
        }
        if (staged.empty()) return in.mark(stream);
        if (way == direction::to_device) return ring.write(staged, stream);
        ring.read(staged, stream);
        return fence();
    });
}

device_block::device_block(context& in, std::size_t bytes) : in_(in) {
    const context::scope current(in);
    const pool_handle pool = in.pool();
    const auto allocate = [&] {
        if (!pool) return api().cuMemAlloc(&address_, bytes);
        const result status = api().cuMemAllocFromPoolAsync(&address_, bytes, pool, in.idle_stream());
        if (status != success) return status;
        // Nothing waits on that stream, so the memory is there at once, for all streams.
        const result ready = api().cuStreamSynchronize(in.idle_stream());
        if (ready != success) api().cuMemFreeAsync(address_, in.idle_stream());
        return ready;
    };
    result status = allocate();
    if (status == out_of_memory && pool) {
        // The pool may hold back just what is missing, or wait for work to give it back.
        constexpr std::chrono::seconds patience(1);
        try {
            in.trim_pool(patience);
        } catch (const error&) {  // as while a stream is being captured
        }
        status = allocate();
    }
    if (status != success) out_of_room(in, bytes, "on the device", status);
}

device_block::~device_block() {
    try {
        const context::scope current(in_);
        if (in_.pool()) {
            in_.free(address_, is_out_);
        } else {
            api().cuMemFree(address_);
        }
    } catch (const std::exception&) {  // the device is lost, and the memory with it
    }
}

device_memory::device_memory(context& in, staging& ring, arena& small, std::size_t bytes)
    : device_range(in, ring, bytes), small_(small) {
    const context::scope current(in);  // throws where the device is lost
    if (small.serves(bytes)) {
        const arena::place made = small.allocate(bytes);
        set_address(made.address, made.block);
    } else {
        own_ = std::make_unique<device_block>(in, bytes);
        set_address(own_->address());
    }
}

device_memory::~device_memory() {
    if (own_ && is_out()) own_->hand_out();
    if (!own_) small_.free(handle(), bytes(), is_out());
}

}  // namespace unibuf::backends::cuda
