// backends/cuda/copy_list.cpp: many copies between the host and a device, in as few calls as the driver takes.
#include "backends/cuda/copy_list.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace unibuf::backends::cuda {
namespace {

result copy(direction way, const piece& one, stream_handle stream) {
    return way == direction::to_device ? api().cuMemcpyHtoDAsync(one.at, one.host, one.bytes, stream)
                                       : api().cuMemcpyDtoHAsync(one.host, one.at, one.bytes, stream);
}

/// Returns the plane that the pieces are, where they have one size and one distance from each other.
std::optional<plane> as_plane(std::span<const piece> pieces) {
    const piece& first = pieces[0];
    const plane all{.row = first,
                    .rows = pieces.size(),
                    .device_pitch = static_cast<std::size_t>(pieces[1].at - first.at),
                    .host_pitch = static_cast<std::size_t>(pieces[1].host - first.host)};
    if (all.device_pitch > most_pitch || all.host_pitch > most_pitch) return std::nullopt;
    for (std::size_t row = 0; row < pieces.size(); ++row) {
        const piece& each = pieces[row];
        const bool in_line = each.allocation == first.allocation && each.bytes == first.bytes &&
                             each.at == first.at + row * all.device_pitch &&
                             each.host == first.host + row * all.host_pitch;
        if (!in_line) return std::nullopt;
    }
    return all;
}

result copy_batch(direction way, std::span<const piece> pieces, stream_handle stream) {
    std::vector<device_pointer> at;
    std::vector<device_pointer> host;
    std::vector<std::size_t> sizes;
    at.reserve(pieces.size());
    host.reserve(pieces.size());
    sizes.reserve(pieces.size());
    for (const piece& each : pieces) {
        at.push_back(each.at);
        host.push_back(reinterpret_cast<device_pointer>(each.host));
        sizes.push_back(each.bytes);
    }
    if (way == direction::to_host) std::swap(at, host);
    copy_attributes in_order{};
    in_order.source_access_order = source_in_stream_order;
    std::size_t of_all = 0;
    std::size_t failed = 0;
    return api().cuMemcpyBatchAsync(at.data(), host.data(), sizes.data(), sizes.size(), &in_order, &of_all, 1, &failed,
                                    stream);
}

}  // namespace

result enqueue(direction way, std::span<const piece> pieces, bool batches, stream_handle stream) {
    if (pieces.size() > 1) {
        if (const auto all = as_plane(pieces)) return enqueue(way, *all, batches, stream);
        const bool can = api().cuMemcpyBatchAsync && stream != nullptr && stream != legacy_stream;
        if (batches && can) return copy_batch(way, pieces, stream);
    }
    for (const piece& each : pieces) {
        if (const result status = copy(way, each, stream); status != success) return status;
    }
    return success;
}

result enqueue(direction way, const plane& rows, bool, stream_handle stream) {
    rectangle all{};
    all.width = rows.row.bytes;
    all.height = rows.rows;
    const rectangle::end host{.memory = memory_of_host, .host = rows.row.host, .pitch = rows.host_pitch};
    const rectangle::end device{.memory = memory_of_device, .device = rows.row.at, .pitch = rows.device_pitch};
    all.source = way == direction::to_device ? host : device;
    all.target = way == direction::to_device ? device : host;
    return api().cuMemcpy2DAsync(&all, stream);
}

}  // namespace unibuf::backends::cuda
