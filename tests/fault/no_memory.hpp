// fault/no_memory.hpp: allocations of the host that are denied, by the operator new of no_memory.cpp.
#pragma once

namespace unibuf::test {

/// While it lives, allocations of this thread fail: all of them, or one.
class no_memory {
public:
    no_memory() noexcept;
    /// Denies one allocation, after `granted` others.
    explicit no_memory(unsigned granted) noexcept;
    ~no_memory();
    no_memory(const no_memory&) = delete;
    no_memory& operator=(const no_memory&) = delete;

    /// Returns whether an allocation was denied.
    bool was_felt() const noexcept;

    /// While it lives, no allocation is denied, and none counts.
    class suspended {
    public:
        suspended() noexcept;
        ~suspended();
        suspended(const suspended&) = delete;
        suspended& operator=(const suspended&) = delete;

    private:
        bool denied_;
    };
};

}  // namespace unibuf::test
