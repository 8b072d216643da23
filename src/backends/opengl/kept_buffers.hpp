// backends/opengl/kept_buffers.hpp: buffer objects that were freed, for whoever needs their like next.
//
// A driver takes as long to make and map a buffer object as to write it once. What programs have in a loop is of the
// same few sizes, so what one iteration frees serves the next.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

#include "backends/opengl/context.hpp"
#include "unibuf/fence.hpp"

namespace unibuf::backends {

/// What a buffer object is made of, and mapped as. Two that are the same can stand for each other.
struct gl_buffer_kind {
    std::size_t bytes = 0;
    unsigned storage = 0;  // flags of glNamedBufferStorage
    unsigned map = 0;      // flags of glMapNamedBufferRange; 0 where it is not mapped

    friend bool operator==(const gl_buffer_kind&, const gl_buffer_kind&) = default;
};

struct gl_buffer {
    gl_buffer_kind kind;
    unsigned name = 0;  // 0 where there is none
    std::byte* mapped = nullptr;
};

/// The buffer objects that one context keeps: the last that were freed, up to a fixed size of all together. The context
/// is unibuf's own: another would be left with names that are still bound. Any thread may call these functions.
class kept_buffers final : public std::enable_shared_from_this<kept_buffers> {
public:
    explicit kept_buffers(std::shared_ptr<gl_context> in) : in_(std::move(in)) {}

    /// Returns a buffer object whose content no work uses any more; its name is 0 where there is none. Waits a little
    /// for such work. Throws error(device_lost) where the context does no more jobs.
    gl_buffer take(const gl_buffer_kind& kind);

    /// Takes the buffer object off the bindings of the context, as deleting it does, and keeps it: see bindings.hpp.
    void keep(const gl_buffer& freed) noexcept;

    /// Deletes all. Returns whether there were any. Where the context does no more jobs, there are none.
    bool clear();

private:
    struct kept {
        gl_buffer buffer;
        fence until;
    };

    void add(const gl_buffer& freed);
    void remove(const std::list<kept>& gone) const;

    const std::shared_ptr<gl_context> in_;
    std::mutex mutex_;
    std::list<kept> all_;  // what was freed last is at the end
    std::size_t bytes_ = 0;
};

}  // namespace unibuf::backends
