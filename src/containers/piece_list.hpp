// containers/piece_list.hpp: pieces in order of where they begin, in chunks, so that one more among many moves few.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "containers/room.hpp"

namespace unibuf {

/// A Piece has `begin`, and moves without throwing. Finding one is logarithmic in their number; inserting one moves
/// those of one chunk, and, where that is full, one place for each chunk.
template <class Piece, std::size_t Most = 64>
class piece_list {
    using chunk = std::vector<Piece>;

    template <class List, class Value>
    class cursor {
    public:
        using iterator_category = std::forward_iterator_tag;
        using value_type = Piece;
        using difference_type = std::ptrdiff_t;
        using pointer = Value*;
        using reference = Value&;

        cursor() noexcept = default;
        cursor(List* of, std::size_t in, std::size_t index) noexcept : of_(of), in_(in), index_(index) {}

        Value& operator*() const noexcept { return of_->chunk_at(in_)[index_]; }
        Value* operator->() const noexcept { return &**this; }
        cursor& operator++() noexcept {
            if (++index_ == of_->chunk_at(in_).size()) *this = {of_, in_ + 1, 0};
            return *this;
        }
        cursor operator++(int) noexcept {
            const cursor before = *this;
            ++*this;
            return before;
        }

        friend bool operator==(const cursor& one, const cursor& other) noexcept {
            return one.in_ == other.in_ && one.index_ == other.index_;
        }

    private:
        friend piece_list;

        List* of_ = nullptr;
        std::size_t in_ = 0;
        std::size_t index_ = 0;
    };

public:
    using iterator = cursor<piece_list, Piece>;
    using const_iterator = cursor<const piece_list, const Piece>;

    piece_list() noexcept = default;

    /// Makes a list of pieces that are in order. Throws std::bad_alloc.
    explicit piece_list(const std::vector<Piece>& all) : size_(all.size()) {
        more_.reserve(all.size() / half);
        for (auto first = all.begin(); first != all.end();) {
            const auto last = first + std::min<std::ptrdiff_t>(all.end() - first, half);
            (first == all.begin() ? first_ : more_.emplace_back()).assign(first, last);
            first = last;
        }
    }

    /// Puts the first piece into an empty list. Throws std::bad_alloc, and has changed nothing then.
    void start(Piece first) {
        assert(empty());
        first_.reserve(at_first);
        first_.push_back(std::move(first));
        size_ = 1;
    }

    /// Takes all pieces out; the room for one chunk stays.
    void clear() noexcept {
        first_.clear();
        more_.clear();
        give_back(more_);
        size_ = 0;
    }

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    iterator begin() noexcept { return {this, 0, 0}; }
    iterator end() noexcept { return {this, size_ != 0 ? chunks() : 0, 0}; }
    const_iterator begin() const noexcept { return {this, 0, 0}; }
    const_iterator end() const noexcept { return {this, size_ != 0 ? chunks() : 0, 0}; }

    /// Returns the piece that `offset` is in: the last that begins there or before it. REQUIRES: there is one.
    iterator at(std::size_t offset) noexcept { return at_in<iterator>(*this, offset); }
    const_iterator at(std::size_t offset) const noexcept { return at_in<const_iterator>(*this, offset); }

    /// Inserts a piece behind another. Throws std::bad_alloc, and has changed nothing then.
    void insert_behind(iterator before, Piece added) {
        std::size_t in = before.in_;
        std::size_t index = before.index_ + 1;
        if (chunk_at(in).size() == Most) {
            const bool at_end = in + 1 == chunks() && index == Most;
            chunk behind;
            behind.reserve(Most);
            make_room(more_);
            chunk& full = chunk_at(in);
            const auto middle = full.begin() + (at_end ? Most : half);
            std::move(middle, full.end(), std::back_inserter(behind));
            full.erase(middle, full.end());
            const std::size_t left = full.size();
            more_.insert(more_.begin() + static_cast<std::ptrdiff_t>(in), std::move(behind));
            if (index > left || at_end) {
                index -= left;
                ++in;
            }
        }
        chunk& to = chunk_at(in);
        to.insert(to.begin() + static_cast<std::ptrdiff_t>(index), std::move(added));
        ++size_;
    }

    /// Takes out the pieces [first, last). REQUIRES: `first` is not the first of all.
    void erase(iterator first, iterator last) noexcept {
        if (first == last) return;
        chunk& begins_in = chunk_at(first.in_);
        const auto begin = begins_in.begin() + static_cast<std::ptrdiff_t>(first.index_);
        if (first.in_ == last.in_) {
            size_ -= last.index_ - first.index_;
            begins_in.erase(begin, begins_in.begin() + static_cast<std::ptrdiff_t>(last.index_));
        } else {
            for (std::size_t in = first.in_; in < last.in_; ++in) size_ -= chunk_at(in).size();
            size_ += first.index_;
            size_ -= last.index_;
            begins_in.erase(begin, begins_in.end());
            if (last.index_ != 0) {
                chunk& ends_in = chunk_at(last.in_);
                ends_in.erase(ends_in.begin(), ends_in.begin() + static_cast<std::ptrdiff_t>(last.index_));
            }
            drop(first.in_ + 1, last.in_);
        }
        merge(first.in_);
    }

    friend bool operator==(const piece_list& one, const piece_list& other) noexcept {
        return one.size_ == other.size_ && std::equal(one.begin(), one.end(), other.begin());
    }

private:
    static constexpr std::ptrdiff_t half = Most / 2;
    static constexpr std::size_t at_first = 4;

    template <class Iterator, class List>
    static Iterator at_in(List& of, std::size_t offset) noexcept {
        const auto begins = [](const chunk& each) { return each.front().begin; };
        std::size_t place = 0;
        if (!of.more_.empty()) {
            const auto next = std::ranges::upper_bound(of.more_, offset, {}, begins);
            place = static_cast<std::size_t>(next - of.more_.begin());
        }
        const chunk& in = of.chunk_at(place);
        const auto behind = std::ranges::upper_bound(in, offset, {}, &Piece::begin);
        assert(behind != in.begin());
        return {&of, place, static_cast<std::size_t>(behind - in.begin()) - 1};
    }

    std::size_t chunks() const noexcept { return 1 + more_.size(); }
    chunk& chunk_at(std::size_t in) noexcept { return in == 0 ? first_ : more_[in - 1]; }
    const chunk& chunk_at(std::size_t in) const noexcept { return in == 0 ? first_ : more_[in - 1]; }

    /// Takes out the chunks [first, last). REQUIRES: the first of all is not among them.
    void drop(std::size_t first, std::size_t last) noexcept {
        assert(first != 0);
        more_.erase(more_.begin() + static_cast<std::ptrdiff_t>(first - 1),
                    more_.begin() + static_cast<std::ptrdiff_t>(last - 1));
        give_back(more_);
    }

    /// Joins a chunk that has got small, or is empty, with one beside it, where there is room.
    void merge(std::size_t in) noexcept {
        if (chunk_at(in).empty()) return drop(in, in + 1);
        for (std::size_t first = in - (in != 0); first <= in && first + 1 < chunks(); ++first) {
            chunk& to = chunk_at(first);
            chunk& from = chunk_at(first + 1);
            if (to.size() + from.size() > std::min(std::size_t{half}, to.capacity())) continue;
            std::move(from.begin(), from.end(), std::back_inserter(to));
            return drop(first + 1, first + 2);
        }
    }

    chunk first_;              // a list of few needs no memory but for this
    std::vector<chunk> more_;  // none is empty
    std::size_t size_ = 0;
};

}  // namespace unibuf
