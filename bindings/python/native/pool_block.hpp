// pool_block.hpp: memory of a pool for those who want an allocation, and no buffer.
#pragma once

#include <cstddef>
#include <memory>
#include <unibuf/unibuf.hpp>

namespace unibuf::python {

/// What the bytes of a block begin with.
enum class block_content { unspecified, zeros };

/// Bytes of one space, in a buffer that a pool gave and that nobody else sees. The buffer goes back to the pool with
/// the block; whoever acquires it next waits for the work that is on the block's queue then. Nothing here needs the
/// interpreter, and everything may wait for other threads.
class pool_block {
public:
    /// Throws what an acquisition and a lease throw. The pool lives as long as the block.
    pool_block(std::shared_ptr<memory_pool> from, std::size_t bytes, space where, block_content content,
               const queue& on = {});
    pool_block(pool_block&&) noexcept = default;
    pool_block& operator=(pool_block&&) = delete;
    ~pool_block();

    const native_memory& native() const { return lease_.native(); }
    std::byte* address() const noexcept { return lease_.address(); }  // null where the host cannot address them
    std::size_t size_bytes() const noexcept { return lease_.size(); }

private:
    std::shared_ptr<memory_pool> pool_;
    buffer buffer_;
    lease<std::byte> lease_;
};

}  // namespace unibuf::python
