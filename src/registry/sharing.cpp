// registry/sharing.cpp: handles of buffers that processes share, and how such buffers are described.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "access/peer_access.hpp"
#include "backends/backend.hpp"
#include "process/lasting.hpp"
#include "process/mutex.hpp"
#include "process/shared_memory.hpp"
#include "registry/names.hpp"
#include "unibuf/detail/element_name.hpp"
#include "unibuf/error.hpp"

namespace unibuf {

namespace {

/// Notes the one buffer that this process has of a memory that processes share. Returns false where it has another one
/// already.
bool remember(detail::core& of, const process::shared_memory& memory) {
    of.will_be_named(&detail::names::forget);
    detail::named_range whole;
    whole.of = &of;
    whole.bytes = of.bytes;
    return detail::names::of_shared_memory().add(memory.identity(), std::move(whole));
}

}  // namespace

std::string buffer::share(std::string_view description) {
    detail::core& core = detail::core_of(gate_);
    if (rectangle_ || begin_ != 0 || bytes_ != core.bytes) {
        throw error(error_code::invalid_argument,
                    fmt::format("{}: to share {} bytes of it was asked for: share all of it", core.name(), bytes_));
    }
    const std::string of_bytes = description.empty() ? detail::describe("|u1", shape(bytes_)) : "";
    const auto memory = detail::share_memory(core, description.empty() ? of_bytes : description);
    remember(core, *memory);  // noted before anybody learns the name, whichever thread was first
    return memory->name();
}

bool buffer::is_shared() const { return detail::core_of(gate_).shared_memory() != nullptr; }

buffer buffer::attach(std::string_view name, const buffer_options& options) {
    const auto memory = process::shared_memory::attach(name);
    const std::string identity = memory->identity();
    detail::names& all = detail::names::of_shared_memory();
    for (;;) {
        {
            // Two buffers of one memory would not know what the other has newer.
            static process::lasting<process::mutex> one_at_a_time(process::mutex::rank::renewed);
            const std::scoped_lock lock(*one_at_a_time);
            auto known = all.find(identity);
            if (known) return {known->of.release(), known->begin, known->bytes};
            if (!all.is_going(identity)) {
                buffer made(memory->bytes().size(), options);
                detail::attach_memory(detail::core_of(made.gate_), memory);
                if (remember(detail::core_of(made.gate_), *memory)) return made;
            }
        }
        // What a buffer has newer that goes now is being brought to the memory.
        if (backends::help_others) backends::help_others();
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
}

std::string buffer::description_of(std::string_view name) {
    return process::shared_memory::attach(name)->description();
}

namespace detail {

std::string describe(std::string_view element, const shape& extents) {
    return fmt::format("{} {}", element, fmt::join(extents.extents(), ","));
}

shape described_shape(std::string_view description, std::string_view element) {
    const std::string_view line = description.substr(0, description.find('\n'));
    const std::size_t space = line.find(' ');
    const auto refuse = [&](const char* why) {
        throw error(error_code::invalid_argument,
                    fmt::format("a shared buffer of elements '{}' was to be attached, but it is described as '{}'{}",
                                element, line, why));
    };
    if (line.substr(0, space) != element) refuse("");
    std::vector<std::size_t> extents;
    const char* const end = line.data() + line.size();
    for (const char* next = line.data() + std::min(space, line.size() - 1) + 1; next < end; ++next) {
        std::size_t extent = 0;
        const auto [stop, failure] = std::from_chars(next, end, extent);
        if (failure != std::errc() || (stop != end && *stop != ',')) refuse(", which is no shape");
        extents.push_back(extent);
        next = stop;
    }
    return shape::of(extents);
}

}  // namespace detail
}  // namespace unibuf
