// backends/opengl/device.hpp: an OpenGL context as a memory space.
#pragma once

#include <memory>

#include "backends/backend.hpp"
#include "backends/opengl/context.hpp"
#include "backends/opengl/kept_buffers.hpp"

namespace unibuf::backends {

class gl_device final : public device {
public:
    /// `kept` is where buffer objects go that are freed; null where they are deleted.
    explicit gl_device(std::shared_ptr<gl_context> context, std::shared_ptr<kept_buffers> kept = nullptr);

    const traits& about() const noexcept override { return traits_; }
    memory_info memory_now() override;
    std::unique_ptr<memory> allocate(const allocation_request& what) override;
    std::unique_ptr<memory> allocate_visible(const allocation_request& what) override;
    bool is_gone() const noexcept override { return context_->is_gone(); }
    void check_here() override { context_->check_can_run(); }
    std::uint64_t identify(queue on) override;
    fence record(queue on) override;
    bool order(const fence& before, queue on) override;
    void trim() override;

    gl_context& context() const noexcept { return *context_; }

private:
    std::shared_ptr<gl_context> context_;
    std::shared_ptr<kept_buffers> kept_;
    traits traits_;
};

}  // namespace unibuf::backends
