// trace/error.cpp: errors, each of which names the section of docs/errors.md that explains it.
#include "unibuf/error.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace unibuf {
namespace {

constexpr std::string_view before_page = " [unibuf explain ";

std::string_view without_page(std::string_view message) noexcept {
    const std::size_t at = message.rfind(before_page);
    const bool is_last = at != std::string_view::npos && message.find(']', at) == message.size() - 1;
    return is_last ? message.substr(0, at) : message;
}

/// Returns the message with what a terminal, or a C string, would take for something else written as "\\x00": names
/// are whatever somebody has given.
std::string printable(std::string message) noexcept {
    const auto is_odd = [](char c) {
        return (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == '\x7f';
    };
    if (std::ranges::none_of(message, is_odd)) return message;
    constexpr std::string_view digits = "0123456789abcdef";
    try {
        std::string result;
        for (const char c : message) {
            const auto value = static_cast<unsigned char>(c);
            if (is_odd(c)) {
                result.append("\\x").append({digits[value >> 4], digits[value & 15]});
            } else {
                result += c;
            }
        }
        return result;
    } catch (const std::bad_alloc&) {  // it matters more than how it looks
        return message;
    }
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
    : std::runtime_error(with_page(printable(std::move(message)), to_string(code))), code_(code) {}

error::~error() = default;

std::string_view error::message() const noexcept { return without_page(what()); }

}  // namespace unibuf
