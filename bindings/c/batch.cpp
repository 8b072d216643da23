// batch.cpp: small writes and syncs, together.
#include <unibuf/batch.hpp>

#include <cstddef>
#include <span>

#include "convert.hpp"
#include "handles.hpp"

struct unibuf_batch {
    explicit unibuf_batch(unibuf::space to) : ranges(to) {}

    unibuf::batch ranges;
};

using namespace unibuf::c;

unibuf_status unibuf_batch_create(unibuf_space to, unibuf_batch** batch) {
    return attempt([&] { hand_out(batch, "a place for the batch", [&] { return space_of(to); }); });
}

unibuf_status unibuf_batch_write(unibuf_batch* batch, unibuf_buffer* buffer, const void* data, size_t size,
                                 size_t offset) {
    return attempt([&] {
        unibuf::buffer& to = bytes_of(buffer);
        given(batch, "a batch").ranges.write(to, bytes_beside<const std::byte>(to, data, size, offset), offset);
    });
}

unibuf_status unibuf_batch_sync(unibuf_batch* batch, const unibuf_buffer* buffer) {
    return attempt([&] { given(batch, "a batch").ranges.sync(bytes_of(buffer)); });
}

unibuf_status unibuf_batch_submit(unibuf_batch* batch) {
    return attempt([&] { given(batch, "a batch").ranges.submit(); });
}

void unibuf_batch_destroy(unibuf_batch* batch) { delete batch; }
