// coherence/range_tree.hpp: values that have a range each, found by the bytes that they share with another.
//
// A search tree by where the ranges begin. Each node also knows where the last range below it ends, so whole branches
// are passed by. A node's height comes from a number that looks random (a treap), so no order of adding and removing
// makes the tree deep.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

#include "coherence/byte_range.hpp"

namespace unibuf::coherence {

/// A value says its range by range(). Values stay where they are in memory. The last that is removed leaves room for
/// one, so that a tree which has one value now and then needs memory once.
template <class Value>
class range_tree {
public:
    range_tree() noexcept = default;
    ~range_tree() { destroy(root_); }
    range_tree(range_tree&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
    range_tree& operator=(range_tree&& other) noexcept {
        std::swap(root_, other.root_);
        return *this;
    }

    bool empty() const noexcept { return !root_ || root_->is_spare(); }

    /// Throws std::bad_alloc.
    Value& add(Value added) {
        if (!root_ || !root_->is_spare()) {
            auto& made = *new node(std::move(added));
            insert(made);
            return made;
        }
        static_cast<Value&>(*root_) = std::move(added);
        root_->less = root_->more = nullptr;
        root_->last_end = root_->range().end;
        return *root_;
    }

    /// REQUIRES: add() has returned it, and it was not removed since.
    Value remove(Value& gone) noexcept {
        auto& of = static_cast<node&>(gone);
        if (root_ == &of && !of.less && !of.more) {
            of.less = of.more = &of;
            return std::move(gone);
        }
        take_out(root_, of);
        Value result = std::move(gone);
        delete &of;
        return result;
    }

    /// Returns whether visit(const Value&) returns true for a value that shares a byte with `range`; asks no more then.
    template <class Visit>
    bool any(byte_range range, const Visit& visit) const {
        return !empty() && any_below(root_, range, visit);
    }

    /// Returns whether visit(const Value&) returns true for any value.
    template <class Visit>
    bool any(const Visit& visit) const {
        return !empty() && any_below(root_, visit);
    }

    /// Calls visit(byte_range) for each run of bytes of `range` that values have, in order. Logarithmic for each value that
    /// reaches further than those that begin before it.
    template <class Visit>
    void for_each_run(byte_range range, const Visit& visit) const {
        for (std::size_t begin = range.begin; begin < range.end;) {
            std::size_t end = begin;
            for (std::size_t next = reach(end); end < range.end && next > end; next = reach(end)) end = next;
            if (end != begin) visit(byte_range{begin, std::min(end, range.end)});
            begin = std::max(end, next_begin(end));
        }
    }

private:
    struct node final : Value {
        explicit node(Value of) noexcept : Value(std::move(of)) {}

        bool is_spare() const noexcept { return less == this; }

        node* less = nullptr;  // itself in a spare node
        node* more = nullptr;
        std::size_t last_end = 0;  // of the ranges here and below
    };

    static bool is_before(const node& one, const node& other) noexcept {
        const std::size_t begin = one.range().begin;
        const std::size_t other_begin = other.range().begin;
        return begin != other_begin ? begin < other_begin : std::less<>()(&one, &other);
    }

    /// Returns a number that looks random, and is the same as long as the node lives.
    static std::uintptr_t height(const node& of) noexcept {
        auto bits = reinterpret_cast<std::uintptr_t>(&of);
        bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9U;
        bits = (bits ^ bits >> 27) * 0x94d049bb133111ebU;
        return bits ^ bits >> 31;
    }

    static void update(node& of) noexcept {
        of.last_end = of.range().end;
        if (of.less) of.last_end = std::max(of.last_end, of.less->last_end);
        if (of.more) of.last_end = std::max(of.last_end, of.more->last_end);
    }

    void insert(node& added) noexcept {
        node** at = &root_;
        while (*at && height(**at) >= height(added)) {
            (*at)->last_end = std::max((*at)->last_end, added.range().end);
            at = is_before(added, **at) ? &(*at)->less : &(*at)->more;
        }
        split(*at, added, added.less, added.more);
        *at = &added;
        update(added);
    }

    /// Puts what is before `at` into `less`, and the rest into `more`.
    static void split(node* of, const node& at, node*& less, node*& more) noexcept {
        if (!of) {
            less = more = nullptr;
        } else if (is_before(*of, at)) {
            less = of;
            split(of->more, at, of->more, more);
            update(*of);
        } else {
            more = of;
            split(of->less, at, less, of->less);
            update(*of);
        }
    }

    /// Returns both as one tree; all of `less` is before `more`.
    static node* merged(node* less, node* more) noexcept {
        if (!less || !more) return less ? less : more;
        node* const top = height(*less) >= height(*more) ? less : more;
        if (top == less) {
            less->more = merged(less->more, more);
        } else {
            more->less = merged(less, more->less);
        }
        update(*top);
        return top;
    }

    static void take_out(node*& at, node& gone) noexcept {
        assert(at);
        if (at == &gone) {
            at = merged(gone.less, gone.more);
            return;
        }
        take_out(is_before(gone, *at) ? at->less : at->more, gone);
        update(*at);
    }

    /// Returns where the last of the ranges that begin at `offset` or before it ends; 0 where there is none.
    std::size_t reach(std::size_t offset) const noexcept {
        std::size_t result = 0;
        for (const node* at = empty() ? nullptr : root_; at;) {
            const bool begins = at->range().begin <= offset;
            if (begins) result = std::max(result, at->range().end);
            if (begins && at->less) result = std::max(result, at->less->last_end);
            at = begins ? at->more : at->less;
        }
        return result;
    }

    /// Returns where the first of the ranges that begin behind `offset` does; the largest number where none does.
    std::size_t next_begin(std::size_t offset) const noexcept {
        std::size_t result = std::numeric_limits<std::size_t>::max();
        for (const node* at = empty() ? nullptr : root_; at;) {
            const bool is_behind = at->range().begin > offset;
            if (is_behind) result = at->range().begin;
            at = is_behind ? at->less : at->more;
        }
        return result;
    }

    template <class Visit>
    static bool any_below(const node* at, byte_range range, const Visit& visit) {
        for (; at && at->last_end > range.begin; at = at->more) {
            if (any_below(at->less, range, visit)) return true;
            if (at->range().begin >= range.end) return false;
            if (at->range().overlaps(range) && visit(static_cast<const Value&>(*at))) return true;
        }
        return false;
    }

    template <class Visit>
    static bool any_below(const node* at, const Visit& visit) {
        for (; at; at = at->more) {
            if (any_below(at->less, visit) || visit(static_cast<const Value&>(*at))) return true;
        }
        return false;
    }

    static void destroy(node* of) noexcept {
        if (!of) return;
        if (!of->is_spare()) {
            destroy(of->less);
            destroy(of->more);
        }
        delete of;
    }

    node* root_ = nullptr;
};

}  // namespace unibuf::coherence
