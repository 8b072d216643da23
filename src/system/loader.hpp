// system/loader.hpp: driver libraries, loaded at run time.
#pragma once

#include <string>
#include <vector>

namespace unibuf::system {

/// A driver library and functions of it. It stays loaded until the process ends: drivers do not like to be unloaded.
class library {
public:
    /// Loads the first of `names` that is there. Without one the library is empty and why() says what was tried.
    explicit library(const std::vector<const char*>& names);

    explicit operator bool() const noexcept { return handle_ != nullptr; }
    const std::string& why() const noexcept { return why_; }

    /// The function `name`, or null.
    void* find(const char* name) const noexcept;

    template <class Function>
    bool find(const char* name, Function*& function) const noexcept {
        function = reinterpret_cast<Function*>(find(name));
        return function != nullptr;
    }

private:
    void* handle_ = nullptr;
    std::string why_;
};

}  // namespace unibuf::system
