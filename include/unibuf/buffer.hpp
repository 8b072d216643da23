// unibuf/buffer.hpp: a logical array of bytes, with copies where they are needed.
//
// Offsets and counts are bytes here; unified_buffer<T> counts elements. Every function may be called from any thread,
// and throws unibuf::error, or std::bad_alloc where the host has no memory for bookkeeping. After an error the buffer
// is as before, or better: newest content is never lost.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "unibuf/copy_view.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/export.hpp"
#include "unibuf/host_view.hpp"
#include "unibuf/lease.hpp"
#include "unibuf/lease_together.hpp"
#include "unibuf/options.hpp"
#include "unibuf/shape.hpp"
#include "unibuf/standing_hold.hpp"
#include "unibuf/state.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf {

class memory_pool;
class region;
class registry;

namespace detail {

struct rectangle;
struct access_request;

struct delete_rectangle {
    UNIBUF_API void operator()(const rectangle* of) const noexcept;
};

/// Memory of elements T that outlives the expression, and that is for reading.
template <class Memory, class T>
concept memory_for_reading =
    std::convertible_to<Memory, std::span<const T>> && !std::convertible_to<Memory, std::span<T>> &&
    (std::is_lvalue_reference_v<Memory> || std::ranges::enable_borrowed_range<std::remove_cv_t<Memory>>);

}  // namespace detail

/// Says which indices along one axis of an array a rectangle has: start, start + step, and so on, below stop.
struct slice {
    std::size_t start = 0;
    std::size_t stop = rest;  // `rest` means all to the end of the axis
    std::size_t step = 1;
};

/// All indices along an axis.
inline constexpr slice full_extent{};

/// Tells how a space has its copy of a buffer, and why.
struct placement_info {
    unibuf::placement placement = placement::mirrored;
    bool pinned = false;  // whether the host's copy is pinned: see buffer_options::pinned
    std::string reason;
    bool writes_found = false;  // writes through pointers to the host's copy are found; else it counts as written
    std::string mapping;        // how the host has memory of a device mapped: "to write, write-combined, coherent"
    bool pointers_out = false;  // what `host()` or `device()` gave of it is out, and was not released
};

/// A handle to a buffer, or to a part of one. All handles of one buffer share its copies and its directory, and it
/// lives as long as one of them, or a lease.
///
/// A function that names no range means all that this handle stands for.
class UNIBUF_API buffer {
public:
    /// Allocates no copy. About 50 ns. Throws error(invalid_argument) for host_access::constant: see over().
    explicit buffer(std::size_t bytes, const buffer_options& options = {});

    /// Makes a buffer whose host copy is `memory` of the program's own, with the content that it has: nothing is
    /// copied. The program may write it at any time, as through a pointer of host(): what it wrote is found, wherever
    /// the memory begins and ends, but where several processes map it (placement() says so). No release_host() ends
    /// that. Once a device has a copy in memory of its own, discard(host) makes that current, and gives the memory
    /// back. `keep` is kept until the copy goes; memory that nothing keeps has to outlive it. The end of the buffer
    /// moves nothing: what a device has newer is lost, unless sync_to_host() was called. Throws error(invalid_argument)
    /// where some of the bytes are those of such a buffer already, which lives, and where the system lets nobody write
    /// them.
    static buffer over(std::span<std::byte> memory, std::shared_ptr<void> keep, const buffer_options& options = {});

    /// Does so with memory for reading, as weights in a mapped file are: options.access is host_access::constant then.
    /// unibuf never writes the memory. What would write any byte of the buffer, at any space, throws
    /// error(invalid_argument), but mark_host_dirty, which says that somebody else has written the memory: nobody looks
    /// for that. Devices use it in place where their driver does not write to it either (OpenCL on CPUs); others have
    /// copies. Once one has, and none uses the memory in place, discard(host) gives it back.
    template <detail::memory_for_reading<std::byte> Memory>
    static buffer over(Memory&& memory, std::shared_ptr<void> keep, buffer_options options = {}) {
        const std::span<const std::byte> bytes(memory);
        options.access = host_access::constant;
        return over({const_cast<std::byte*>(bytes.data()), bytes.size()}, std::move(keep), options);
    }

    // A buffer can be shared with other processes of this user on this machine, each with device copies of its own.
    // Linux only.
    //
    // What one process writes at the host is found by the device accesses of the others, which move all that they ask
    // for. While one process has newer content on a device, accesses by the others throw error(access_conflict); where
    // that process has ended with it, they throw error(transfer_failed), until mark_host_dirty of the whole buffer says
    // that the host's bytes stand. Leases exclude accesses of this process alone. Every access takes the buffer's lock,
    // and pointers of host() are not watched. The memory goes with the last process that has it.

    /// Moves the host's copy into memory that other processes can have, and names it for attach(). The content is
    /// copied there once; device copies go; handles, names and the id stay. A buffer that is shared already just gets
    /// its name again, which is good as long as this process has the buffer. `description` is for those who attach, at
    /// most 4000 bytes; an empty one says that the buffer is an array of bytes.
    ///
    /// Waits for all leases. Throws error(access_conflict) while pointers, device handles or views are out,
    /// error(invalid_argument) for a handle of a part, error(out_of_memory).
    std::string share(std::string_view description = {});
    bool is_shared() const;

    /// Returns a handle of the buffer that another process, or this one, shares under that name. Where this process has
    /// a buffer of it already, that is the one, and its options stay; else a new one is made. Maps memory and copies
    /// nothing. Throws error(invalid_argument) where the process that gave the name has ended, or has dropped the
    /// buffer.
    static buffer attach(std::string_view name, const buffer_options& options = {});

    /// Returns the description that share() was given with the buffer of that name: see attach().
    static std::string description_of(std::string_view name);

    /// Leaves `other` a handle of no buffer: its size and its id are 0, it may be assigned to and destroyed, and all
    /// else throws error(invalid_argument).
    buffer(buffer&& other) noexcept
        : gate_(std::exchange(other.gate_, &detail::no_buffer)),
          begin_(std::exchange(other.begin_, 0)),
          bytes_(std::exchange(other.bytes_, 0)),
          rectangle_(std::move(other.rectangle_)) {}
    buffer& operator=(buffer&& other) noexcept;

    /// The end of the last handle waits for queued work, then frees the copies. It does not wait for work that leases
    /// have left behind on OpenCL memory of the device's own, which OpenCL keeps until that is done. Where a device
    /// works in the host's memory and a handle of device() was out, it waits for all work on the queues that are known.
    /// Leases that are held keep the copies until they end.
    ~buffer();

    /// Returns a handle to a part of this one. Throws error(out_of_range). Overlapping views are coherent with each
    /// other.
    buffer view(std::size_t offset, std::size_t bytes);

    /// Returns a handle to a rectangle of this one, which is seen as a row-major array of `extents`, of elements of
    /// `element_bytes`; there is a slice for each axis. What is said of a handle's bytes
    /// is said of the bytes of the rectangle alone: they are what moves, and what excludes others. Costs what a handle
    /// of a range costs, however many rows there are: the directory keeps a rectangle as one.
    ///
    /// Pointers, leases and native memory reach from its first byte to its last; the bytes between its rows are
    /// others'. Functions that take an offset and a size take all of a rectangle only, else they throw
    /// error(unsupported). A rectangle with a step beyond 1 has what lies between its first element and its last, but
    /// what a lease writes is read before, so that the elements between keep their content; fill, mark_dirty, discard,
    /// discard_content, copy_from and copy_to throw error(unsupported) there.
    ///
    /// While pointers of host() are out, a rectangle of more than 64 rows is not watched row by row: what may have been
    /// written counts as written. Throws error(out_of_range) for indices outside; error(invalid_argument) where the
    /// extents are not those of the handle, a slice is empty or has a step of 0, or the handle begins within a row of
    /// the array; error(unsupported) for a handle to a rectangle.
    buffer view(const unibuf::shape& extents, std::size_t element_bytes, std::span<const slice> along);

    /// Returns whether this stands for a rectangle, of rows that lie apart.
    bool is_rectangle() const noexcept { return rectangle_ != nullptr; }

    std::size_t size_bytes() const noexcept { return bytes_; }
    std::uint64_t id() const noexcept;  // never used twice in a process
    const buffer_options& options() const noexcept;

    /// Returns whether the handle has all bytes of the buffer.
    bool is_whole() const noexcept { return !rectangle_ && bytes_ == gate_->bytes; }

    /// Returns whether nothing else keeps the buffer: no other handle, host_view or copy_view. The answer is a
    /// snapshot.
    bool is_only_handle() const noexcept;

    /// Returns whether there is a standing hold of any byte of the buffer. The answer is a snapshot.
    bool is_bound() const;

    // A lease allocates the copy at `where` if there is none, and makes it current. It waits for accesses of other
    // threads that exclude it, at most options.timeout, and then throws error(timeout); a negative timeout is
    // error(invalid_argument). A read also waits for writers that wait themselves, at most 10 ms. Within one thread,
    // accesses that exclude each other are error(access_conflict). With options.on, the lease's work is on that queue:
    // transfers go there too, and the host does not stop for them.
    lease<const std::byte> read(space where, const access_options& options = {}) const;
    lease<std::byte> write(space where, const access_options& options = {});
    lease<std::byte> read_write(space where, const access_options& options = {});

    // Each of these describes a lease that lease_together is to take.
    wanted_lease<const std::byte> to_read(space where, const access_options& options = {}) const noexcept {
        return {{this, where, access::read, options}};
    }
    wanted_lease<std::byte> to_write(space where, const access_options& options = {}) noexcept {
        return {{this, where, access::write, options}};
    }
    wanted_lease<std::byte> to_read_write(space where, const access_options& options = {}) noexcept {
        return {{this, where, access::read_write, options}};
    }

    UNIBUF_INLINED byte_lease acquire(space where, access what, const access_options& options) const {
        if (const std::uint64_t ticket = take_at_once(where, what, options)) return lease_at_host(ticket, what);
        return acquire_by_lock(where, what, options);
    }

    /// Takes the lease where that takes no lock, as at the host where nothing has to move; else returns one that holds
    /// nothing.
    UNIBUF_INLINED byte_lease acquire_at_once(space where, access what, const access_options& options) const {
        const std::uint64_t ticket = take_at_once(where, what, options);
        return ticket ? lease_at_host(ticket, what) : byte_lease();
    }

    /// Throws error(access_conflict) where this thread would be refused `what` of all of the handle, as it holds a
    /// lease that excludes it. Waits for nobody. It is for those who leave an access to another thread, which would
    /// wait.
    void check_not_excluded(access what) const;

    /// Returns a pointer to the host's copy. Raw access is a lease taken and ended in one step: the data is there when
    /// the call returns.
    ///
    /// The pointer may be written through at any time, until release_host, or the end of the buffer.
    /// What was written is found by the next access elsewhere, and only the pages that it touched move
    /// ("Write tracking" in the documents says how). Where writes cannot be found, all that was handed out counts as
    /// written each time. What is written where a device has newer content is a conflict: the next read of those
    /// bytes throws error(access_conflict), until mark_host_dirty, mark_device_dirty or discard says which of the two
    /// stands. Where the host only reads the buffer (host_access::read_only), the pointer is for reading; where its
    /// content is constant, this throws error(invalid_argument), and host() const gives one. Where the
    /// host only writes it (host_access::write_only), the pointer is for writing, and host() const is refused.
    UNIBUF_INLINED std::byte* host() {
        std::byte* const address = gate_->host_if(detail::gate::host_exposed);
        return address ? address + begin_ : host_by_lock();
    }

    /// Returns a pointer for reading only, which is good as long as one of host(), and costs nothing later.
    UNIBUF_INLINED const std::byte* host() const {
        const std::byte* const address = gate_->host_if(detail::gate::host_shown);
        return address ? address + begin_ : host_to_read_by_lock();
    }

    /// Says that pointers from host() are not used any more: accesses elsewhere need not look for what was written, and
    /// others may have the memory where it is short. Memory of over() is the program's to write all the same.
    void release_host();

    /// Gives the pointer of host() as a view with an end of its own. Throws error(invalid_argument) where the host only
    /// reads.
    UNIBUF_INLINED unibuf::host_view<std::byte> host_view(std::size_t offset = 0, std::size_t bytes = rest) {
        return unibuf::host_view<std::byte>(hold_host(offset, bytes));
    }
    unibuf::copy_view hold_host(std::size_t offset, std::size_t bytes);

    /// Gives the host's memory to what no page table shows, as a view: reads with O_DIRECT, libaio, io_uring with
    /// registered buffers, process_vm_writev, MPI between processes of a machine, RDMA. Such stores are found by
    /// nobody, so the bytes count as written all the time until the view ends, which is to be after the I/O has ended:
    /// accesses elsewhere move them each time, and may see half of it; what would write them elsewhere throws
    /// error(access_conflict), but in another process that has the buffer, which is not told. `write` discards the old
    /// content, so that nothing is fetched; `read_write` keeps it. The host may use the memory meanwhile. Throws
    /// error(invalid_argument) for `read`, and what host_view() throws.
    UNIBUF_INLINED unibuf::host_view<std::byte> io_view(access what = access::write, std::size_t offset = 0,
                                                        std::size_t bytes = rest) {
        return unibuf::host_view<std::byte>(hold_for_io(what, offset, bytes));
    }
    unibuf::copy_view hold_for_io(access what, std::size_t offset, std::size_t bytes);

    /// Returns the default device's copy, for reading, or for writing that mark_device_dirty tells of. It waits for
    /// queued work on the bytes, also for such as reads them.
    UNIBUF_INLINED native_memory device() {
        std::uint8_t where = 0;
        std::uintptr_t handle = 0;
        if (rectangle_ || !gate_->device_if(where, handle)) return device_by_lock();
        return {detail::as_named(space::from_id(where)), handle, begin_, bytes_};
    }

    /// Says that handles from device() are not used any more: others may have the memory where it is short.
    void release_device();

    /// Gives the handle of device(), in any space, as a view with an end of its own. At the host it is for reading.
    unibuf::copy_view copy_view(space where, std::size_t offset = 0, std::size_t bytes = rest);

    /// Gives a view of a copy as it is, current or not. It is no access, so it waits for nobody, and may be asked for
    /// while leases are held. Throws error(not_allocated) where `where` has no copy.
    unibuf::copy_view hold_copy(space where, std::size_t offset = 0, std::size_t bytes = rest);

    /// Puts an upload of these bytes into the CUDA graph that the stream `options.on` of `where` is capturing: each
    /// launch copies what the host's memory holds by then. Nothing moves now. unibuf does not hear of launches, so the
    /// program orders them: a launch reads the host's copy, and writes the one at `where`. The view that is returned
    /// names the latter, and is kept until the work of the last launch is done: it keeps both copies in place, and
    /// meanwhile a write of these bytes elsewhere than at the host is error(access_conflict). Where the device uses the
    /// host's memory itself, nothing is captured.
    ///
    /// Throws what a lease throws; error(access_conflict) where a standing hold writes the bytes; error(unsupported)
    /// where the host's copy is not pinned (buffer_options::pinned), where the host does not have the newest of these
    /// bytes, and where `where` is not of CUDA; error(invalid_argument) where no stream is named that is being
    /// captured.
    unibuf::copy_view capture_upload(space where, const access_options& options);

    /// Lets the device `where` use its copy at any time until the hold ends, to read, or to read and write: a buffer
    /// that is bound to a shader, a raw handle that is kept. Throws what a lease throws, error(invalid_argument) for
    /// `write` and at the host, and error(access_conflict) where another standing hold is in the way.
    standing_hold bind(space where, access what, const standing_options& options = {});

    /// Returns whether raw access to the whole buffer at the host, or at the default device, would change nothing and
    /// wait for nothing. It costs a check. Where it returns false, that may still be so, as before the first use of
    /// what a sync or a prefetch has brought: the access finds out.
    bool is_current_at(space where) const noexcept { return gate_->is_current_at(where.id()); }

    /// Returns whether marking the whole buffer dirty at `where` would change nothing. It costs a check.
    bool is_newest_at(space where) const noexcept { return gate_->is_newest_at(where.id()); }

    // Each of these makes its side current: the host, or the default device. Both throw error(not_allocated) where
    // no copy exists at all.
    void sync_to_host(std::size_t offset = 0, std::size_t bytes = rest);
    void sync_to_device(std::size_t offset = 0, std::size_t bytes = rest);

    // Each of these says that the bytes at the host, at the default device or at `where` stand, and drops newer ones
    // elsewhere. Each throws error(not_allocated) where there is no such copy. Device content counts as ready after all
    // work that was submitted to that device until now, or to the queue that options.on names.
    void mark_host_dirty(std::size_t offset = 0, std::size_t bytes = rest);
    void mark_device_dirty(std::size_t offset = 0, std::size_t bytes = rest);
    UNIBUF_INLINED void mark_dirty(space where, std::size_t offset = 0, std::size_t bytes = rest) {
        mark_dirty(where, {.offset = offset, .count = bytes});
    }
    void mark_dirty(space where, const access_options& options);

    /// Starts to make `where` current, and returns; accesses there wait for it.
    void prefetch(space where, const access_options& options = {});

    /// Drops the copy at `where`. Throws error(access_conflict), naming the range, where nobody else is current, and
    /// where a pointer, a view or a handle of device() is out. Where two versions are newest, that of `where` is
    /// dropped, and a copy that is held stays where it is.
    void discard(space where);

    /// Drops the content: the buffer reads as zero then, as if nobody had written it. Where pointers of host() are out,
    /// the host's copy is filled with zeros, which they show. Throws error(access_conflict) while a host_view is out.
    void discard_content();

    /// Fills the handle with `pattern`, again and again. The size of the pattern divides that of the handle, or that of
    /// a row of a rectangle; an empty handle takes any. Runs on a device whose copy is current, else on the host. Where
    /// a device fails while it fills a rectangle, some of its rows may be filled.
    void fill(std::span<const std::byte> pattern);

    /// Does so at `where`, which is where the newest content is then: for what a device uses first.
    void fill(std::span<const std::byte> pattern, space where);

    // The host makes both copies. copy_from throws error(out_of_range) where the data does not fit.
    void copy_from(std::span<const std::byte> data, std::size_t offset = 0);
    void copy_to(std::span<std::byte> data, std::size_t offset = 0) const;

    // These copy between the program's memory and the copy at `where`, by its driver, past the host's copy: it is
    // neither made nor made current, so bytes that are copied out twice move twice. They are for data that the host
    // passes on, as messages and files are. A rectangle goes as one copy of the driver. Both return when the bytes are
    // there, and throw what leases at `where` throw, and error(out_of_range). Where the driver fails half way, bytes
    // that no other space had hold the old content or the new. Where `where` is the host, or uses its memory, they do
    // what the two above do.
    void copy_from(std::span<const std::byte> data, space where, std::size_t offset = 0);
    void copy_to(std::span<std::byte> data, space where, std::size_t offset = 0) const;

    /// Copies a part for those who read a value now and then. Where a device has the part, and the host has not, it
    /// goes past the host's copy, as above. The whole buffer goes by the host's copy, which is current then; so does
    /// what is copied for the second time though nobody has written the buffer since.
    void copy_value_to(std::span<std::byte> data, std::size_t offset = 0) const;

    /// Returns a space where all bytes of the handle are current: the host if it is one, else a device; the host, too,
    /// where no space has all of them. copy_to at that space moves no byte that lies elsewhere.
    space current_at() const;

    // These copy all of `source` to `offset` in this one, or what is there to all of `target`. That is done where the
    // bytes are current, and counts as no transfer: a device copies within its own memory, where it has room for both,
    // after the work that is queued on them, and the call does not wait for the copy. Where several spaces have the
    // bytes, it is a device at which the target has a copy, or else the host. Both throw what leases throw,
    // error(out_of_range), and error(access_conflict) where the two share a byte.
    void copy_from(const buffer& source, std::size_t offset = 0);
    void copy_to(buffer& target, std::size_t offset = 0) const;

    // These four tell of the whole buffer, of which this handle may be a part.
    buffer_state state() const;
    unibuf::statistics statistics() const;
    std::size_t ranges() const;                   // number of ranges that the directory tells apart
    placement_info placement(space where) const;  // throws error(not_allocated) where there is no copy

private:
    friend class batch;
    friend class memory_pool;
    friend class registry;
    friend void lease_together(std::span<const wanted_byte_lease>, std::span<byte_lease>, const std::function<void()>&);

    buffer(detail::gate* gate, std::size_t begin, std::size_t bytes) noexcept
        : gate_(gate), begin_(begin), bytes_(bytes) {}

    region part(std::size_t offset, std::size_t count) const;
    void check_is_range(const char* wanted) const;
    void check_no_gaps(const char* verb) const;
    void sync(space where, std::size_t offset, std::size_t bytes);
    void fill_at(std::span<const std::byte> pattern, std::optional<space> where);
    static void copy(const buffer& source, std::size_t from, buffer& target, std::size_t to, std::size_t bytes);
    detail::access_request request_of(space where, access what, const access_options& options) const;
    UNIBUF_INLINED std::uint64_t take_at_once(space where, access what, const access_options& options) const {
        const bool whole = options.offset == 0 && options.count == rest && options.timeout.count() >= 0;
        return where.id() == 0 && bytes_ == gate_->bytes && whole ? gate_->take_solo(what) : 0;
    }
    UNIBUF_INLINED byte_lease lease_at_host(std::uint64_t ticket, access what) const {
        return byte_lease(*gate_, ticket, what, gate_->host_address.load(std::memory_order_relaxed), bytes_);
    }
    byte_lease acquire_by_lock(space where, access what, const access_options& options) const;
    std::byte* host_by_lock();
    const std::byte* host_to_read_by_lock() const;
    native_memory device_by_lock();

    detail::gate* gate_;  // the part of detail::core that accesses look at first
    std::size_t begin_;
    std::size_t bytes_;
    std::unique_ptr<const detail::rectangle, detail::delete_rectangle> rectangle_;  // null where it is a range
};

}  // namespace unibuf
