// tracking/watch.hpp: which bytes of an allocation the program has written, without being told.
//
// The kernel finds a write by its page. Where it cannot, where a page is written again and again, and where others have
// a part in a page, the contents are compared: then a write is found by its line of 64 bytes, and one of the value that
// was there is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "coherence/byte_range.hpp"
#include "coherence/byte_ranges.hpp"
#include "system/pages.hpp"
#include "tracking/compared.hpp"
#include "tracking/hot_pages.hpp"
#include "tracking/kernel.hpp"
#include "tracking/units.hpp"

namespace unibuf::tracking {

/// Watches one allocation of the host. Offsets are from its beginning. Not thread-safe; the writers are other threads,
/// which need not know. The memory outlives the watch.
///
/// Every function may throw error(unsupported) where tracking has come to an end, as in a forked process: what was
/// written since is not known then, and counts as written.
class watch {
public:
    enum class mapping { own, common };

    /// The kernel watches the pages of the bytes `watched`, which were added to it: alone, until the watch ends, or
    /// with all of a mapping. The first and the last page may have other bytes than the memory's, which nobody else
    /// uses. What is before and behind those bytes is compared.
    watch(std::span<std::byte> memory, byte_range watched, mapping kind);
    ~watch();
    watch(const watch&) = delete;
    watch& operator=(const watch&) = delete;

    /// Returns how exactly it is known which writes are found, and which are forgotten: by whole units.
    units in_units() const noexcept { return units_; }

    /// Returns whether all contents are compared. Then a write costs no more where it is watched; else it pays not to
    /// watch what is rewritten all the time.
    bool compares_all() const noexcept { return pages_.empty(); }

    /// Returns the bytes of `range` whose contents are compared.
    byte_ranges compared(byte_range range) const;

    /// Returns whether some of `range` is: some part of it for which is(byte_range) holds.
    template <class Is>
    bool compares_any_of(byte_range range, const Is& is) const {
        for (auto each = first_of(*this, range); each != pieces_.end() && each->first < range.end; ++each) {
            if (is(each->second.piece.at().clipped_to(range))) return true;
        }
        return false;
    }
    bool compares_any_of(byte_range range) const noexcept {
        return compares_any_of(range, [](byte_range) { return true; });
    }

    /// Returns what the bytes of `range` held when they were armed or scanned last, which stays so; null where they are
    /// not compared as one. REQUIRES: all of them are armed.
    std::shared_ptr<const std::byte> image(byte_range range) const noexcept;

    /// Copies what the bytes of `range` that are compared held when they were armed or scanned last. `to` is the place
    /// of all of `range`, and what is there of other bytes stays. REQUIRES: all of it is armed.
    void copy_images(byte_range range, std::byte* to) const noexcept;

    /// Writes to `range` are found from now on; what came before is forgotten. The ends of `range` are rounded outwards
    /// to whole units.
    void arm(byte_range range);

    /// Writes to `range`, rounded inwards, need not be found until it is armed again, and cost nothing.
    void disarm(byte_range range);

    /// Has pages of `range`, rounded outwards, watched again where they are for all that is known, and the program has
    /// undone that.
    void watch_again(byte_range range) const noexcept;

    // Between these two, system calls can write the pages of `range`, rounded outwards, where they could not; all of
    // the pages count as written then.
    void let_kernel_write(byte_range range) const noexcept;
    void end_kernel_write(byte_range range) const noexcept;

    /// Adds what was written of `range`, rounded outwards and armed all over, since it was armed or scanned. Later
    /// writes are found by the next scan: none is missed. Where it throws, what was found until then has been added,
    /// and all else is left for the next scan. Of what is compared, bytes that are told `apart` are found one by one.
    void scan(byte_range range, const compared_piece::bytes_apart& apart, std::vector<byte_range>& written,
              kernel::look_for what = kernel::look_for::written_and_protect);

    /// Compares a unit from now on, where it is not compared already, and adds what was written of it until now. The
    /// kernel watches its page as before, and is asked first.
    void compare(byte_range unit, std::vector<byte_range>& written);

    /// Returns whether there is a unit that was compare()d.
    bool tells_apart() const noexcept { return apart_ != 0; }

    /// Notes that unibuf has written these bytes, of units that are compared: nobody finds that.
    void take_bytes(byte_range bytes);

    /// Leaves to the kernel alone what compare() was called for, of the units in `range` that are not `needed`.
    template <class Needed>
    void leave_to_kernel(byte_range range, const Needed& needed) {
        if (apart_ == 0) return;
        for (auto each = first_of(*this, range); each != pieces_.end() && each->first < range.end;) {
            const bool ends = each->second.is_compared == why::apart && !needed(each->second.piece.at());
            apart_ -= ends ? 1 : 0;
            each = ends ? pieces_.erase(each) : std::next(each);
        }
    }

    /// Returns whether anything of `range` was written, and leaves that for the next scan to find.
    bool any_written(byte_range range);

    /// Notes that the memory was used before, and was made zero where that is asked for. What was touched is found by
    /// contents then, and a zero that was written does not count.
    void was_used() noexcept { used_ = true; }

    // These are for memory that was zero, and was not armed since. Both add what anybody has written since of `range`,
    // rounded outwards. arm_fresh arms it too, and misses nothing in between.
    void touched(byte_range range, std::vector<byte_range>& found);
    void arm_fresh(byte_range range, std::vector<byte_range>& found);

private:
    enum class why : std::uint8_t {
        always,  // the kernel does not watch it
        hot,     // nor this page, for now
        apart,   // compare() was called: where the kernel has seen a write
    };
    struct compared_unit {
        compared_piece piece;
        why is_compared;
    };
    using pieces = std::map<std::size_t, compared_unit>;  // key: where the piece begins

    /// Returns the first piece that ends behind the beginning of `range`.
    template <class Self>
    static auto first_of(Self& self, byte_range range) noexcept {
        return first_behind(self.pieces_, range.begin, [](const compared_unit& of) { return of.piece.at().end; });
    }
    std::span<std::byte> kernel_pages(byte_range range) const noexcept;
    template <class Self, class Visit>
    static void for_each_in(Self& self, byte_range range, const Visit& visit);
    template <class Is>
    byte_ranges pages_without(byte_range range, const Is& is) const;
    void look(byte_range range, kernel::look_for what, std::vector<byte_range>& found, std::size_t most) const;
    void tell_seen(const compared_piece::bytes_apart& apart, std::vector<byte_range>& written);
    void not_zero(byte_range range, std::vector<byte_range>& found) const;
    void add_touched(byte_range range, kernel::look_for what, std::vector<byte_range>& found) const;
    void cool(byte_range range, const compared_piece::bytes_apart& apart, std::vector<byte_range>& written);
    void heat(byte_range range);
    void end_hot(byte_range range) noexcept;
    void add_piece(byte_range at, why is_compared);

    std::span<std::byte> memory_;
    byte_range pages_;  // bytes in pages that the kernel watches, but for hot ones
    mapping kind_;
    units units_;
    pieces pieces_;
    std::size_t hot_ = 0;    // of these
    std::size_t apart_ = 0;  // of these
    hot_pages learned_;
    std::vector<byte_range> seen_;  // what the kernel has told, and was not told on yet
    bool armed_ = false;            // some pages were armed at some time
    bool used_ = false;             // the memory was used before this watch
};

/// Returns which bytes of `memory`, in private pages that were zero at first, lie in pages that somebody may have
/// touched: all others are zero. That is all of them where the system does not tell.
byte_ranges touched(std::span<std::byte> memory);

/// Which pages of the memory are the process's own, and hold nothing else.
enum class own_pages {
    none,
    inside,  // those that the memory has all of
    all,     // those that the memory has a byte of
};

/// Up to so many bytes are compared, wherever they lie: the kernel could tell no more than that some of them were
/// written. For 4 KiB that takes a tenth of the time that the kernel takes.
inline std::size_t most_compared() noexcept { return system::page_size(); }

/// Makes a watch; null where writes to this memory cannot be found. That is so for a page and more where none are its
/// own, where the program has a userfaultfd on them already, or where the process would soon have no mapping left.
///
/// `mapping`, where it is not empty, is the mapping that the pages are a part of, with others that may be watched: it
/// is told to the kernel as one, and stays so.
std::unique_ptr<watch> make_watch(std::span<std::byte> memory, own_pages own, std::span<std::byte> mapping = {});

/// Tells how writes are found in this process: "userfaultfd and PAGEMAP_SCAN", or that they are not, and why.
struct mechanism {
    bool finds_writes = false;
    std::string description;
};
mechanism about();

}  // namespace unibuf::tracking
