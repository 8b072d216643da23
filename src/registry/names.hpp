// registry/names.hpp: the map behind the registry.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "buffer/core.hpp"
#include "process/mutex.hpp"
#include "unibuf/registry.hpp"

namespace unibuf::detail {

/// The range of a buffer that a name stands for. The buffer is there as long as the entry is.
struct named_range {
    core* of = nullptr;
    core_handle kept;  // null where the name does not keep the buffer
    std::size_t begin = 0;
    std::size_t bytes = 0;
    unibuf::shape shape;
    std::string element;
};

/// Any thread. Handles are given back outside the lock: the last one takes its names out of here.
class names {
public:
    static names& instance();

    /// Returns the names of memory that processes share, so that this process has one buffer of it.
    static names& of_shared_memory();

    /// Takes the names of a buffer that goes out of both maps.
    static void forget(const core& gone);

    /// Adds a name. Returns false where it is taken.
    bool add(std::string_view name, named_range what);

    struct found {
        core_handle of;
        std::size_t begin;
        std::size_t bytes;
        unibuf::shape shape;
        std::string element;
    };
    std::optional<found> find(std::string_view name) const;

    /// Returns whether the name is that of a buffer that is being destroyed.
    bool is_going(std::string_view name) const;
    bool remove(std::string_view name);

    /// Removes all names of a buffer that goes.
    void remove(const core& of) noexcept;

    std::vector<std::string> all() const;

private:
    struct both;

    mutable process::mutex mutex_;
    std::map<std::string, named_range, std::less<>> ranges_;
};

}  // namespace unibuf::detail
