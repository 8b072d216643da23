// registry/registry.cpp
#include "unibuf/registry.hpp"

#include <fmt/format.h>

#include <utility>

#include "process/only_library.hpp"
#include "registry/names.hpp"
#include "trace/recorder.hpp"
#include "unibuf/error.hpp"

namespace unibuf {

namespace detail {

std::string element_name(char kind, std::size_t bytes) {
    const bool ordered = kind != 'V' && bytes > 1;
    return fmt::format("{}{}{}", ordered ? '<' : '|', kind, bytes);
}

/// Both maps are made with the first name, so that the end of a buffer needs no memory.
struct names::both {
    static both& instance() {
        process::refuse_second_library();
        static auto* const only = new both;  // buffers may go when static objects do
        return *only;
    }

    names of_buffers;
    names of_shared_memory;
};

names& names::instance() { return both::instance().of_buffers; }

names& names::of_shared_memory() { return both::instance().of_shared_memory; }

void names::forget(const core& gone) {
    instance().remove(gone);
    trace::forget_name(gone.id());
    of_shared_memory().remove(gone);
}

bool names::add(std::string_view name, named_range what) {
    named_range gone;
    const std::scoped_lock lock(mutex_);
    const auto there = ranges_.find(name);
    if (there != ranges_.end()) {
        if (there->second.of->add_handle_if_alive()) {
            gone.kept.reset(there->second.of);
            return false;
        }
        ranges_.erase(there);  // the buffer is going right now
    }
    ranges_.emplace(name, std::move(what));
    return true;
}

std::optional<names::found> names::find(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto there = ranges_.find(name);
    if (there == ranges_.end() || !there->second.of->add_handle_if_alive()) return std::nullopt;
    const named_range& known = there->second;
    return found{core_handle(known.of), known.begin, known.bytes, known.shape, known.element};
}

bool names::is_going(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto there = ranges_.find(name);
    return there != ranges_.end() && there->second.of->is_going();
}

bool names::remove(std::string_view name) {
    named_range gone;
    const std::scoped_lock lock(mutex_);
    const auto there = ranges_.find(name);
    if (there == ranges_.end()) return false;
    gone = std::move(there->second);
    ranges_.erase(there);
    return true;
}

void names::remove(const core& of) noexcept {
    decltype(ranges_) gone;  // its handles end after the lock
    const std::scoped_lock lock(mutex_);
    for (auto each = ranges_.begin(); each != ranges_.end();) {
        const auto next = std::next(each);
        if (each->second.of == &of) gone.insert(ranges_.extract(each));
        each = next;
    }
}

std::vector<std::string> names::all() const {
    const std::scoped_lock lock(mutex_);
    std::vector<std::string> result;
    result.reserve(ranges_.size());
    for (const auto& [name, range] : ranges_) result.push_back(name);
    return result;
}

}  // namespace detail

void registry::add(std::string_view name, buffer& of, const shape& extents, std::string_view element, bool keep) {
    if (name.empty()) throw error(error_code::invalid_argument, "a buffer was to be registered under an empty name");
    of.check_is_range("a name");
    detail::core& core = detail::core_of(of.gate_);
    detail::named_range range{.of = &core,
                              .kept = nullptr,
                              .begin = of.begin_,
                              .bytes = of.bytes_,
                              .shape = extents,
                              .element = std::string(element)};
    core.will_be_named(&detail::names::forget);
    if (keep) {
        core.add_handle();
        range.kept.reset(&core);
    }
    if (detail::names::instance().add(name, std::move(range))) {
        std::string told;
        for (std::size_t axis = 0; axis < extents.rank(); ++axis) {
            told += (axis == 0 ? "" : " x ") + std::to_string(extents[axis]);
        }
        const bool is_view = of.bytes_ != core.bytes;
        const std::string where = is_view ? fmt::format(", bytes [{}, {})", of.begin_, of.begin_ + of.bytes_) : "";
        return trace::name_buffer(core.id(), fmt::format("{} ({}, {}{})", name, told, element, where));
    }
    throw error(
        error_code::invalid_argument,
        fmt::format("{} was to be registered as '{}', which is taken: remove that name first", core.name(), name));
}

std::optional<registered_buffer> registry::find(std::string_view name) const {
    auto found = detail::names::instance().find(name);
    if (!found) return std::nullopt;
    return registered_buffer{buffer(found->of.release(), found->begin, found->bytes), found->shape,
                             std::move(found->element)};
}

bool registry::remove(std::string_view name) { return detail::names::instance().remove(name); }
std::vector<std::string> registry::names() const { return detail::names::instance().all(); }

void registry::refuse(std::string_view name, std::string_view is, std::string_view wanted) {
    throw error(error_code::invalid_argument,
                fmt::format("'{}' was asked for with elements '{}', but has '{}'", name, wanted, is));
}

registry& get_registry() noexcept {
    static registry only;
    return only;
}

}  // namespace unibuf
