// containers/few.hpp: a list with room of its own for the few elements that it usually has.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include "containers/room.hpp"

namespace unibuf {

/// A list whose first `N` elements lie in itself, so that it needs memory for more alone. A T moves without throwing.
template <class T, std::size_t N>
class few {
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_move_assignable_v<T>);

public:
    using value_type = T;

    few() noexcept = default;
    few(const few&) = delete;
    few& operator=(const few&) = delete;
    ~few() {
        clear();
        if (!is_inside()) std::allocator<T>().deallocate(first_, capacity_);
    }

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }
    std::size_t capacity() const noexcept { return capacity_; }

    T* data() noexcept { return first_; }
    const T* data() const noexcept { return first_; }
    T* begin() noexcept { return first_; }
    T* end() noexcept { return first_ + size_; }
    const T* begin() const noexcept { return first_; }
    const T* end() const noexcept { return first_ + size_; }
    T& operator[](std::size_t index) noexcept { return first_[index]; }
    const T& operator[](std::size_t index) const noexcept { return first_[index]; }
    T& front() noexcept { return *first_; }
    const T& front() const noexcept { return *first_; }
    T& back() noexcept { return first_[size_ - 1]; }
    const T& back() const noexcept { return first_[size_ - 1]; }

    /// Makes room for so many elements in all. Throws std::bad_alloc, and has changed nothing then.
    void reserve(std::size_t all) {
        if (all <= capacity_) return;
        T* const larger = std::allocator<T>().allocate(all);
        std::uninitialized_move(begin(), end(), larger);
        std::destroy(begin(), end());
        if (!is_inside()) std::allocator<T>().deallocate(first_, capacity_);
        first_ = larger;
        capacity_ = all;
    }

    /// Throws std::bad_alloc, and has changed nothing then.
    void push_back(T added) {
        make_room(*this);
        std::construct_at(first_ + size_, std::move(added));
        ++size_;
    }

    /// Adds the elements of a range that is not in this list.
    template <class Range>
    void append(const Range& added) {
        make_room(*this, std::size(added));
        for (const T& each : added) push_back(each);
    }

    /// Adds copies of `like` until there are so many elements, or takes the last ones out.
    void resize(std::size_t all, const T& like = {}) {
        if (all < size_) return erase(first_ + all, end());
        reserve(all);
        while (size_ != all) push_back(like);
    }

    /// Takes out the elements [first, last).
    void erase(T* first, T* last) noexcept {
        T* const left = std::move(last, end(), first);
        std::destroy(left, end());
        size_ = static_cast<std::size_t>(left - first_);
    }
    void erase(T* which) noexcept { erase(which, which + 1); }

    /// The room stays.
    void clear() noexcept { erase(begin(), end()); }

private:
    bool is_inside() const noexcept { return first_ == inside(); }
    T* inside() noexcept { return reinterpret_cast<T*>(room_); }
    const T* inside() const noexcept { return reinterpret_cast<const T*>(room_); }

    T* first_ = inside();
    std::size_t size_ = 0;
    std::size_t capacity_ = N;
    alignas(T) std::byte room_[N * sizeof(T)];
};

}  // namespace unibuf
