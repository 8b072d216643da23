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

/// What a tree of `Node`s keeps in each of them, as `links`. A node says its range by range(), which stays the same in
/// a tree.
template <class Node>
struct range_links {
    Node* less = nullptr;
    Node* more = nullptr;
    std::size_t last_end = 0;  // of the ranges here and below
};

/// A tree of nodes that are somebody else's: nothing here needs memory.
template <class Node>
class range_index {
public:
    constexpr range_index() noexcept = default;
    range_index(range_index&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
    range_index& operator=(range_index&& other) noexcept {
        std::swap(root_, other.root_);
        return *this;
    }

    bool empty() const noexcept { return !root_; }

    /// REQUIRES: the node is in no tree.
    void add(Node& added) noexcept {
        Node** at = &root_;
        while (*at && height(**at) >= height(added)) {
            (*at)->links.last_end = std::max((*at)->links.last_end, added.range().end);
            at = is_before(added, **at) ? &(*at)->links.less : &(*at)->links.more;
        }
        split(*at, added, added.links.less, added.links.more);
        *at = &added;
        update(added);
    }

    /// REQUIRES: the node is in this tree.
    void remove(Node& gone) noexcept { take_out(root_, gone); }

    /// Returns the only node; null where there are none or several.
    Node* only() const noexcept { return root_ && !root_->links.less && !root_->links.more ? root_ : nullptr; }

    /// Notes that the only node has another range.
    void range_has_changed() noexcept { update(*root_); }

    /// Takes all nodes out, and calls visit(Node&) for each, which may destroy it.
    template <class Visit>
    void clear(const Visit& visit) noexcept {
        clear_below(std::exchange(root_, nullptr), visit);
    }

    /// Returns whether visit(Node&) returns true for a node that shares a byte with `range`; asks no more then.
    template <class Visit>
    bool any(byte_range range, const Visit& visit) const {
        return any_below(root_, range, visit);
    }

    /// Returns whether visit(Node&) returns true for any node.
    template <class Visit>
    bool any(const Visit& visit) const {
        return any_below(root_, visit);
    }

    /// Calls visit(byte_range) for each run of bytes of `range` that nodes have, in order. Logarithmic for each node
    /// that reaches further than those that begin before it.
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
    static bool is_before(const Node& one, const Node& other) noexcept {
        const std::size_t begin = one.range().begin;
        const std::size_t other_begin = other.range().begin;
        return begin != other_begin ? begin < other_begin : std::less<>()(&one, &other);
    }

    /// Returns a number that looks random, and is the same as long as the node lives.
    static std::uintptr_t height(const Node& of) noexcept {
        auto bits = reinterpret_cast<std::uintptr_t>(&of);
        bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9U;
        bits = (bits ^ bits >> 27) * 0x94d049bb133111ebU;
        return bits ^ bits >> 31;
    }

    static void update(Node& of) noexcept {
        of.links.last_end = of.range().end;
        if (of.links.less) of.links.last_end = std::max(of.links.last_end, of.links.less->links.last_end);
        if (of.links.more) of.links.last_end = std::max(of.links.last_end, of.links.more->links.last_end);
    }

    /// Puts what is before `at` into `less`, and the rest into `more`.
    static void split(Node* of, const Node& at, Node*& less, Node*& more) noexcept {
        if (!of) {
            less = more = nullptr;
        } else if (is_before(*of, at)) {
            less = of;
            split(of->links.more, at, of->links.more, more);
            update(*of);
        } else {
            more = of;
            split(of->links.less, at, less, of->links.less);
            update(*of);
        }
    }

    /// Returns both as one tree; all of `less` is before `more`.
    static Node* merged(Node* less, Node* more) noexcept {
        if (!less || !more) return less ? less : more;
        Node* const top = height(*less) >= height(*more) ? less : more;
        if (top == less) {
            less->links.more = merged(less->links.more, more);
        } else {
            more->links.less = merged(less, more->links.less);
        }
        update(*top);
        return top;
    }

    static void take_out(Node*& at, Node& gone) noexcept {
        assert(at);
        if (at == &gone) {
            at = merged(gone.links.less, gone.links.more);
            return;
        }
        take_out(is_before(gone, *at) ? at->links.less : at->links.more, gone);
        update(*at);
    }

    /// Returns where the last of the ranges that begin at `offset` or before it ends; 0 where there is none.
    std::size_t reach(std::size_t offset) const noexcept {
        std::size_t result = 0;
        for (const Node* at = root_; at;) {
            const bool begins = at->range().begin <= offset;
            if (begins) result = std::max(result, at->range().end);
            if (begins && at->links.less) result = std::max(result, at->links.less->links.last_end);
            at = begins ? at->links.more : at->links.less;
        }
        return result;
    }

    /// Returns where the first of the ranges that begin behind `offset` does; the largest number where none does.
    std::size_t next_begin(std::size_t offset) const noexcept {
        std::size_t result = std::numeric_limits<std::size_t>::max();
        for (const Node* at = root_; at;) {
            const bool is_behind = at->range().begin > offset;
            if (is_behind) result = at->range().begin;
            at = is_behind ? at->links.less : at->links.more;
        }
        return result;
    }

    template <class Visit>
    static bool any_below(Node* at, byte_range range, const Visit& visit) {
        for (; at && at->links.last_end > range.begin; at = at->links.more) {
            if (at->links.less && any_below(at->links.less, range, visit)) return true;
            if (at->range().begin >= range.end) return false;
            if (at->range().overlaps(range) && visit(*at)) return true;
        }
        return false;
    }

    template <class Visit>
    static bool any_below(Node* at, const Visit& visit) {
        for (; at; at = at->links.more) {
            if ((at->links.less && any_below(at->links.less, visit)) || visit(*at)) return true;
        }
        return false;
    }

    template <class Visit>
    static void clear_below(Node* of, const Visit& visit) noexcept {
        while (of) {
            clear_below(of->links.less, visit);
            Node* const next = of->links.more;
            visit(*of);
            of = next;
        }
    }

    Node* root_ = nullptr;
};

/// A tree of values of its own, which stay where they are in memory. The last that is removed leaves room for one, so
/// that a tree which has one value now and then needs memory once.
template <class Value>
class range_tree {
public:
    range_tree() noexcept = default;
    ~range_tree() {
        nodes_.clear([](node& each) { delete &each; });
    }
    range_tree(range_tree&&) noexcept = default;
    range_tree& operator=(range_tree&&) noexcept = default;

    bool empty() const noexcept { return nodes_.empty() || spare(); }

    /// Throws std::bad_alloc.
    Value& add(Value added) {
        if (node* const room = spare()) {
            static_cast<Value&>(*room) = std::move(added);
            nodes_.range_has_changed();
            return *room;
        }
        auto& made = *new node(std::move(added));
        nodes_.add(made);
        return made;
    }

    /// REQUIRES: add() has returned it, and it was not removed since.
    Value remove(Value& gone) noexcept {
        auto& of = static_cast<node&>(gone);
        if (nodes_.only() == &of) {
            of.links.last_end = spare_end;
            return std::move(gone);
        }
        nodes_.remove(of);
        Value result = std::move(gone);
        delete &of;
        return result;
    }

    /// Returns whether visit(const Value&) returns true for a value that shares a byte with `range`; asks no more then.
    template <class Visit>
    bool any(byte_range range, const Visit& visit) const {
        return !empty() && nodes_.any(range, [&](const node& each) { return visit(static_cast<const Value&>(each)); });
    }

    /// Returns whether visit(const Value&) returns true for any value.
    template <class Visit>
    bool any(const Visit& visit) const {
        return !empty() && nodes_.any([&](const node& each) { return visit(static_cast<const Value&>(each)); });
    }

    /// Calls visit(byte_range) for each run of bytes of `range` that values have, in order.
    template <class Visit>
    void for_each_run(byte_range range, const Visit& visit) const {
        if (!empty()) nodes_.for_each_run(range, visit);
    }

private:
    struct node final : Value {
        explicit node(Value of) noexcept : Value(std::move(of)) {}

        range_links<node> links;
    };

    static constexpr std::size_t spare_end = std::numeric_limits<std::size_t>::max();  // no range ends there

    /// Returns the node that has room for a value, or null. It is the only one then.
    node* spare() const noexcept {
        node* const only = nodes_.only();
        return only && only->links.last_end == spare_end ? only : nullptr;
    }

    range_index<node> nodes_;
};

}  // namespace unibuf::coherence
