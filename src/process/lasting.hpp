// process/lasting.hpp: an object that nothing destroys.
#pragma once

#include <cstddef>
#include <new>

namespace unibuf::process {

/// Has a T for all of the process, as threads and buffers may end after static objects. Takes nothing from the heap, so
/// that it can be made where nothing may fail.
template <class T>
class lasting {
public:
    template <class... Arguments>
    explicit lasting(Arguments... with) {
        ::new (static_cast<void*>(memory_)) T(with...);
    }

    T& operator*() noexcept { return *std::launder(reinterpret_cast<T*>(memory_)); }

private:
    alignas(T) std::byte memory_[sizeof(T)];
};

}  // namespace unibuf::process
