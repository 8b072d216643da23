// registry/registry.cpp: buffers by name, for all languages of a process.
#include "unibuf/registry.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>
#include <utility>

#include "process/only_library.hpp"
#include "registry/names.hpp"
#include "trace/recorder.hpp"
#include "unibuf/detail/sizes.hpp"
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
    const auto entry = ranges_.find(name);
    if (entry != ranges_.end()) {
        if (entry->second.of->add_handle_if_alive()) {
            gone.kept.reset(entry->second.of);
            return false;
        }
        ranges_.erase(entry);  // the buffer is going right now
    }
    ranges_.emplace(name, std::move(what));
    return true;
}

std::optional<names::found> names::find(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto entry = ranges_.find(name);
    if (entry == ranges_.end() || !entry->second.of->add_handle_if_alive()) return std::nullopt;
    const named_range& known = entry->second;
    return found{core_handle(known.of), known.begin, known.bytes, known.shape, known.element};
}

bool names::is_going(std::string_view name) const {
    const std::scoped_lock lock(mutex_);
    const auto entry = ranges_.find(name);
    return entry != ranges_.end() && entry->second.of->is_going();
}

bool names::remove(std::string_view name) {
    named_range gone;
    const std::scoped_lock lock(mutex_);
    const auto entry = ranges_.find(name);
    if (entry == ranges_.end()) return false;
    gone = std::move(entry->second);
    ranges_.erase(entry);
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

namespace {

/// Returns the bytes of an element that is written as NumPy's array interface does; 0 where it is written otherwise.
std::size_t bytes_of_element(std::string_view element) noexcept {
    if (element.size() < 3) return 0;
    std::size_t count = 0;
    const char* const end = element.data() + element.size();
    const auto [behind, failure] = std::from_chars(element.data() + 2, end, count);
    if (failure != std::errc{} || (behind != end && *behind != '[')) return 0;
    constexpr std::size_t of_character = 4;
    return detail::product(count, element[1] == 'U' ? of_character : 1).value_or(0);
}

/// Throws where the array is not as large as the buffer: whoever finds it takes its shape for granted.
void check_fits(std::string_view name, std::size_t bytes, const shape& extents, std::string_view element) {
    const std::size_t each = bytes_of_element(element);
    if (each == 0) {
        throw error(error_code::invalid_argument,
                    fmt::format("'{}' was to be registered with elements '{}': write them as NumPy's array interface "
                                "does, as in '<f4'",
                                name, element));
    }
    std::optional<std::size_t> wanted = each;
    for (const std::size_t extent : extents.extents()) wanted = wanted ? detail::product(*wanted, extent) : wanted;
    if (wanted == bytes) return;
    throw error(error_code::invalid_argument,
                fmt::format("'{}' was to be registered as {} elements '{}', but the buffer has {} bytes", name,
                            fmt::join(extents.extents(), " x "), element, bytes));
}

}  // namespace

void registry::add(std::string_view name, buffer& of, const shape& extents, std::string_view element, bool keep) {
    if (name.empty()) throw error(error_code::invalid_argument, "a buffer was to be registered under an empty name");
    of.check_is_range("a name");
    check_fits(name, of.size_bytes(), extents, element);
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
    const bool is_view = of.bytes_ != core.bytes;
    const std::string where = is_view ? fmt::format(", bytes [{}, {})", of.begin_, of.begin_ + of.bytes_) : "";
    std::string told = fmt::format("{} ({}, {}{})", name, fmt::join(extents.extents(), " x "), element, where);
    if (!detail::names::instance().add(name, std::move(range))) {
        throw error(
            error_code::invalid_argument,
            fmt::format("{} was to be registered as '{}', which is taken: remove that name first", core.name(), name));
    }
    try {
        trace::name_buffer(core.id(), std::move(told));
    } catch (...) {
        detail::names::instance().remove(name);
        throw;
    }
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
