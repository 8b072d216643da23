// trace/error.cpp: errors, each of which names the section of docs/errors.md that explains it.
#include "unibuf/error.hpp"

#include <new>
#include <utility>

namespace unibuf {
namespace {

constexpr std::string_view before_page = " [unibuf explain ";

std::string_view without_page(std::string_view message) noexcept {
    const std::size_t at = message.rfind(before_page);
    const bool is_last = at != std::string_view::npos && message.find(']', at) == message.size() - 1;
    return is_last ? message.substr(0, at) : message;
}

/// Returns the message with its page, and without one where there is no memory.
std::string with_page(std::string message, std::string_view page) noexcept {
    message.resize(without_page(message).size());
    try {
        message.reserve(message.size() + before_page.size() + page.size() + 1);
        message.append(before_page).append(page).append("]");
    } catch (const std::bad_alloc&) {  // it matters more than its page
    }
    return message;
}

}  // namespace

error::error(error_code code, std::string message)
    : std::runtime_error(with_page(std::move(message), to_string(code))), code_(code) {}

error::~error() = default;

std::string_view error::message() const noexcept { return without_page(what()); }

}  // namespace unibuf
