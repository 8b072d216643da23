// system/images.hpp: the program and the libraries that are loaded.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace unibuf::system {

/// A loaded program or library.
struct image {
    std::string_view path;  // may be empty, or relative, for the program
    std::uintptr_t begin;   // its addresses: behind `end`, and before `begin`, there is none
    std::uintptr_t end;

    bool has(const void* address) const noexcept {
        return reinterpret_cast<std::uintptr_t>(address) - begin < end - begin;
    }
};

/// Calls `visit` with each in the order in which they were loaded, until it returns false. It may not load any.
void for_each_image(const std::function<bool(const image&)>& visit);

/// Returns the path of the program; empty where the system does not tell.
std::string program();

/// Returns an address as the file of its program or library has it; `loaded_at` is where the file's beginning lies.
std::uintptr_t address_in_file(const void* address, const void* loaded_at) noexcept;

}  // namespace unibuf::system
