// registry/names.hpp: the map behind the registry.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buffer/core.hpp"
#include "unibuf/registry.hpp"

namespace unibuf::detail {

/// What a name stands for: the range of a buffer that is there as long as the entry is.
struct named_range {
    core* of = nullptr;
    core_handle kept;  // null where the name does not keep it
    std::size_t begin = 0;
    std::size_t bytes = 0;
    unibuf::shape shape;
    std::string element;
};

/// Any thread. Handles are given back outside the lock: the last one takes its names out of here.
class names {
public:
    static names& instance();

    /// Of the memory that processes share, so that this one has one buffer of it.
    static names& of_shared_memory();

    /// Takes a buffer that goes out of both.
    static void forget(const core& gone);

    /// False where the name is taken.
    bool add(std::string_view name, named_range what);

    struct found {
        core_handle of;
        std::size_t begin;
        std::size_t bytes;
        unibuf::shape shape;
        std::string element;
    };
    std::optional<found> find(std::string_view name) const;
    bool remove(std::string_view name);

    /// All names of a buffer that goes.
    void remove(const core& of) noexcept;

    std::vector<std::string> all() const;

private:
    mutable std::mutex mutex_;
    std::map<std::string, named_range, std::less<>> ranges_;
};

}  // namespace unibuf::detail
