// backends/opengl/device.hpp: an OpenGL context as a memory space.
#pragma once

#include <memory>

#include "backends/backend.hpp"
#include "backends/opengl/context.hpp"

namespace unibuf::backends {

class gl_device final : public device {
public:
    explicit gl_device(std::shared_ptr<gl_context> context);

    const traits& about() const noexcept override { return traits_; }
    memory_info memory_now() override;
    std::unique_ptr<memory> allocate(const request& what) override;
    std::unique_ptr<memory> allocate_visible(const request& what) override;
    fence record(queue on) override;
    bool order(const fence& before, queue on) override;

    gl_context& context() const noexcept { return *context_; }

private:
    std::shared_ptr<gl_context> context_;
    traits traits_;
};

}  // namespace unibuf::backends
