// pool_block.cpp: memory of a pool for those who want an allocation, and no buffer.
#include "pool_block.hpp"

#include <utility>

namespace unibuf::python {

namespace {

buffer_options options_for(space where, block_content content) {
    return {.hint = where == host ? memory_hint::cpu_preferred : memory_hint::gpu_preferred,
            .device = where,
            .uninitialized = content == block_content::unspecified};
}

}  // namespace

pool_block::pool_block(std::shared_ptr<memory_pool> from, std::size_t bytes, space where, block_content content,
                       const queue& on)
    : pool_(std::move(from)), buffer_(pool_->acquire(bytes, options_for(where, content))) {
    const access_options options{.on = on};
    // A buffer that gets no memory is of no use to the pool.
    lease_ = content == block_content::zeros ? buffer_.read_write(where, options) : buffer_.write(where, options);
}

pool_block::~pool_block() {
    if (!pool_) return;  // it was moved from
    lease_.release();
    try {
        pool_->release(std::move(buffer_));
    } catch (const error&) {  // the buffer goes with this handle
    }
}

}  // namespace unibuf::python
