// backends/backend.hpp: the one interface that a backend implements.
//
// A backend says what its memory can do, and does it. It decides nothing about coherence: the buffer above it knows
// which bytes are current, keeps accesses that exclude each other apart, waits for queued work before it frees memory,
// and never asks for a range outside an allocation, for an empty range, or for anything after a destructor.
//
// Errors are unibuf::error: out_of_memory, device_lost, device_unavailable, transfer_failed, unsupported,
// invalid_argument for a queue that cannot be used; or bad_alloc of the host's own heap. After one, nothing has changed
// but bytes that a transfer was to overwrite.
// Every function may be called from any thread; calls about one range are ordered by the caller.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/rectangle.hpp"
#include "containers/few.hpp"
#include "unibuf/fence.hpp"
#include "unibuf/options.hpp"
#include "unibuf/space.hpp"
#include "unibuf/statistics.hpp"

namespace unibuf::backends {

struct traits {
    std::string description;         // name that its driver gives it
    std::optional<int> number;       // its number in the API, which is then that of the space; else spaces are counted
    bool own_memory = true;          // memory of its own, apart from the host's
    bool aliases_host = false;       // alias() works
    bool aliases_lines = false;      // alias() takes any whole cache lines; else memory had better be whole pages
    bool aliases_constant = false;   // alias() may take memory that nobody may write: for host_access::constant
    bool pins = false;               // alias() faults pages of the host in, as a write does
    bool host_visible = false;       // allocate_visible() works; memory of allocate() may have a host_address() without
    bool write_combines = false;     // allocate_visible() gives write-combined memory for memory_hint::streaming
    bool asynchronous = false;       // work is queued, fences tell when it is done
    bool addresses = false;          // handle() is an address, its own or the host's: programs make pointers of it
    bool retains_queues = false;     // a queue that was named is kept as long as record_later() may be asked for it
    bool frees_behind_work = false;  // memory that allocate() gave may be freed while submitted work uses it
    bool ends_with_fork = false;     // a process that is forked off cannot use it, or would write its parent's memory
    bool poisons_stale = false;      // stale bytes, here and on the host, are overwritten with `poison`
    std::uint64_t memory_bytes = 0;  // all of its memory; 0 where its driver does not say
    std::vector<device_property> properties;  // for people and logs
};

inline constexpr std::byte poison{0xDB};

/// A request says how much memory is wanted, and what it will be used for.
struct allocation_request {
    std::size_t bytes = 0;     // never 0
    bool whole_pages = false;  // at the host: pages that hold nothing else, so that a device can pin or use them
    bool staggered = false;    // at the host: large ones need not begin with a page, and had better not all do so
    host_access access = host_access::read_write;
    memory_hint hint = memory_hint::none;
};

using fences = few<fence, 2>;

/// See device::identify.
inline constexpr std::uint64_t out_of_order = std::uint64_t{1} << 62;

/// A piece of an allocation.
struct part {
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

enum class direction { to_device, to_host };

/// A memory is one allocation. Its destructor frees it, from any thread, and does not throw.
///
/// Where work is queued, the functions may return before it is done: the fence tells. Without a queue they use one of
/// their own, after all work that was submitted to the device before; host memory that was passed stays as it is until
/// then. With a queue they put their work on it and nothing waits.
class memory {
public:
    virtual ~memory() = default;

    /// Returns where the host can address these bytes, or null.
    virtual std::byte* host_address() const noexcept { return nullptr; }

    /// Returns how the host has it mapped, for people; empty where that is not of interest.
    virtual std::string_view how_mapped() const noexcept { return {}; }

    /// Returns whether it reads as zero until something is written. Where it does not, bytes that nobody has written
    /// are filled with zero before they are read.
    virtual bool starts_zero() const noexcept { return false; }

    // The next six concern memory of the host's own.

    /// Returns whether it is pages of the host, from the system and of this memory alone.
    virtual bool whole_pages() const noexcept { return false; }

    /// Returns whether pages that it has all of are the process's own, which no other process writes, whatever those at
    /// its ends hold besides.
    virtual bool own_pages_inside() const { return whole_pages(); }

    /// Returns the whole mapping that this memory has a part of, where its whole pages are in a mapping that others
    /// have parts of, too, and that outlives them; else empty.
    virtual std::span<std::byte> common_mapping() const noexcept { return {}; }

    /// Returns whether it is memory of the program's own, which nobody gets by freeing it.
    virtual bool is_programs() const noexcept { return false; }

    /// Returns whether nothing else lies in its first and last cache lines.
    virtual bool has_whole_lines() const noexcept { return true; }

    /// Returns whether all its pages were faulted in when it was made, as pinning does it: a page that is there says
    /// nothing of who wrote it then.
    virtual bool is_populated() const noexcept { return false; }

    /// Overwrites stale bytes, which the host addresses, with `poison`.
    virtual void poison_stale(std::size_t offset, std::size_t bytes);

    /// Overwrites with poison what nobody has made current in the range, before a program sees it. For devices that
    /// have traits::poisons_stale.
    virtual void poison_unseen(std::size_t, std::size_t) {}

    /// Returns what the API calls this memory: a cl_mem, a buffer name, an address.
    virtual std::uintptr_t handle() const noexcept = 0;

    /// Notes that the program has the handle without a lease: it may queue work that nobody has a fence of. The
    /// destructor stops nobody then, and the bytes are used for nothing else before that work is done.
    virtual void hand_out() noexcept {}

    /// Returns whether the destructor of memory of the host, in which that device works, keeps the bytes until that
    /// work is done, as hand_out() says. Where it does not, whoever frees the memory waits.
    virtual bool keeps_for_work_of(space) const noexcept { return false; }

    /// Notes that the content has ended, and that nobody has the handle any more: the next use may begin as the first.
    virtual void forget_content() noexcept {}

    virtual fence write(std::size_t offset, std::span<const std::byte> from, queue on) = 0;
    virtual fence read(std::size_t offset, std::span<std::byte> to, queue on) = 0;

    // Both move many parts, in order and apart: each is at its place in this memory, and at the same place from `host`
    // on. For each that is queued a fence is added to `done`, which has room, so that after an error the caller knows
    // which are under way.
    virtual void write_parts(std::span<const part> parts, const std::byte* host, queue on, fences& done);
    virtual void read_parts(std::span<const part> parts, std::byte* host, queue on, fences& done);

    /// Returns the way that bytes go between this memory and these of the host.
    virtual transfer_route route_of(std::span<const std::byte> host) const noexcept;

    /// Returns whether write_from takes bytes from `other`; where it does not, only the host reaches both.
    virtual bool takes_from(const memory& other) const noexcept;

    /// Takes bytes that begin at `from` in another memory, or apart from these in this one. The caller has put `on`
    /// behind the work that has written them.
    virtual fence write_from(memory& other, std::size_t from, std::size_t offset, std::size_t bytes, queue on);

    // Each of these does for a rectangle what write, read and write_from do for bytes that lie together. Bytes between
    // the rows are neither read nor written, at either end. Where one throws, nothing of it goes on any more, and the
    // rows that it was to write hold anything.
    virtual fence write_rectangle(const rectangle_copy& what, const std::byte* host, queue on);
    virtual fence read_rectangle(const rectangle_copy& what, std::byte* host, queue on);
    virtual fence write_rectangle_from(memory& other, const rectangle_copy& what, queue on);

    /// Puts a write into what is being captured on that queue, to be done whenever that is launched. `from` stays as it
    /// is, and has to be memory that needs no detour: else throws error(unsupported), and error(invalid_argument) where
    /// the queue is not being captured. Does nothing where host and device share the memory.
    virtual void capture_write(std::size_t offset, std::span<const std::byte> from, queue on);

    /// Repeats `pattern`, which is 1 byte or longer, over the range, whose size is a multiple of the pattern's.
    virtual fence fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue on) = 0;

    /// These are for memory that host and device share. Each makes what one has written visible to the other, which may
    /// then do `what` with it. After `read` both sides may read; after `write` or `read_write` only the one it went to
    /// may touch it, until the next call for that range. A call again, or for a side that sees it already, does no
    /// harm. For memory that was borrowed, the device that lends it stands in the host's place: see device::borrow.
    virtual fence publish_to_host(std::size_t offset, std::size_t bytes, access what, queue on);
    virtual fence publish_to_device(std::size_t offset, std::size_t bytes, access what, queue on);

    // These do the same for rows, which lie alike at both ends.
    virtual fence publish_rows_to_host(const rectangle_copy& what, access how, queue on);
    virtual fence publish_rows_to_device(const rectangle_copy& what, access how, queue on);

    /// Returns whether publications move bytes, as each side may have its own. They move none for `write`, which is
    /// what they are asked for where the other side sees the newest already: else older bytes would go over newer ones.
    virtual bool publishes_content() const noexcept { return false; }
};

/// A piece of one memory of a device, and the bytes of the host that go there, or come from there.
struct move_of {
    memory* of = nullptr;
    std::size_t offset = 0;
    std::span<std::byte> host;
};

/// Keeps host memory where it is, for transfers without a detour, until this goes.
class pin {
public:
    virtual ~pin() = default;
};

/// The work of a fence of device::record_later: it is all that is submitted until somebody first asks for it.
class late_work : public fence::work {
public:
    /// Returns a fence after the work; no native one where it is known to be done. From the first call on, later work
    /// is not part of it.
    virtual fence so_far() = 0;

    /// Returns whether somebody has asked. What is submitted before a call that returns false is part of the work.
    bool is_known() const noexcept { return known_.load(std::memory_order_acquire); }

protected:
    /// Notes that somebody asks. The driver is asked after this.
    void make_known() noexcept { known_.store(true, std::memory_order_release); }

private:
    std::atomic<bool> known_ = false;
};

/// The work of a transfer that may have taken what it carries from the host's memory before it is done.
class upload_work : public fence::work {
public:
    bool has_taken_all() const noexcept { return has_taken_all_; }

    /// Notes that the host may write to its memory. Is called before others know of the work.
    void note_all_taken() noexcept { has_taken_all_ = true; }

private:
    bool has_taken_all_ = false;
};

/// Is called around the making of a fence, one pair of calls at a time. Where the fence cannot be made, there is no
/// end.
struct fence_listener {
    std::function<void()> begin;
    std::function<void(const fence&)> end;
};

/// A device is one space.
class device {
public:
    virtual ~device() = default;

    virtual const traits& about() const noexcept = 0;

    /// Returns traits::description as it is now.
    virtual std::string describe() const { return about().description; }

    /// Returns what is free now, where the driver says it.
    virtual memory_info memory_now();

    /// Gives back what the device keeps for later, after work that may use it.
    virtual void trim() {}

    /// Allocates memory of this device alone.
    virtual std::unique_ptr<memory> allocate(const allocation_request& what) = 0;

    /// Allocates memory of this device that the host addresses too. It is visible to the host first: the device sees
    /// what the host has written after publish_to_device.
    virtual std::unique_ptr<memory> allocate_visible(const allocation_request& what);

    /// Makes this device's use of the host's memory, which outlives the result. It is visible to the host first: the
    /// device sees what the host has written after publish_to_device.
    virtual std::unique_ptr<memory> alias(std::span<std::byte> host, const allocation_request& what);

    /// Makes this device's use of memory that another device has allocated, which outlives the result: no byte moves
    /// between the two then. Null where this device has no way to it; throws where there is one, and it fails.
    ///
    /// The two take turns with all of it, also to read, and the lender begins. `publish_to_device` makes it this
    /// device's turn and `publish_to_host` the lender's. Each is ordered, without the fence that it returns, after all
    /// work that was submitted to the one whose turn ends; what the other one does next waits for that fence. The
    /// handle may be another one in each turn; between turns nobody asks this memory for anything else.
    virtual std::unique_ptr<memory> borrow(memory& of_another, const allocation_request& what);

    /// Carries out memory::write or memory::read for all of these, which are apart and of this device, in as few calls
    /// of the driver as it can. Adds a fence for each, or one for all; what was queued is done after these, also where
    /// it throws.
    virtual void move_many(direction way, std::span<const move_of> moves, fences& done);

    /// Pins whole pages of the host, which outlive the result. Throws error(unsupported) where that is of no use.
    virtual std::unique_ptr<pin> pin_pages(std::span<std::byte> host);

    /// Returns whether the device has gone for good, as the context that it was has been destroyed.
    virtual bool is_gone() const noexcept { return false; }

    /// Throws where this thread cannot use the device, as its context is current elsewhere, or was destroyed.
    virtual void check_here() {}

    /// Checks a queue that an access names, before anything else is done for that access. Throws
    /// error(invalid_argument) where it says nothing of this device's work: for a queue of another context or device.
    /// Returns a number that no other queue has, not even one that gets the handle later; 0 where that cannot be told.
    /// `out_of_order` is added to that of a queue on which work may begin before what was put there before: of such
    /// work it is known only that its fence is behind all that.
    virtual std::uint64_t identify(queue on);

    /// Returns a fence after all work submitted so far: on that queue, or, where none is named, to the whole context.
    virtual fence record(queue on);

    /// Returns a fence that may never be asked for. It may stand for all that is submitted until somebody asks, so that
    /// the driver is not called before; else it is what record() returns.
    virtual fence record_later(queue on) { return record(on); }

    /// Tells from now on of each fence after all work submitted so far, whatever it is made for: to ask for one may
    /// disturb what the program is doing with the device, as captures.
    virtual void tell_of_fences(const fence_listener&) {}

    /// Returns a queue of the device's own that waits for nobody's work; none where the device has none.
    virtual queue own_queue() { return {}; }

    /// Makes later work on `on` wait for `before`, without stopping the host; false where it cannot.
    virtual bool order(const fence& before, queue on);
};

/// A function for APIs that are bound to one thread (see opengl/worker.cpp): it does what others have asked that thread
/// for, and wait for. The backend sets it on the thread that does a device's work; it is null on all others. Whoever
/// waits for another thread there calls it now and then.
using helper = void();
inline thread_local constinit helper* help_others = nullptr;

/// The devices that a backend found on this machine, and why it found none, or not all.
struct discovery {
    std::vector<std::unique_ptr<device>> devices;
    std::string unavailable;
};

// Each backend has one function `discovery discover_<kind>()`, called once, when a space of its kind is first asked
// for.
#define UNIBUF_BACKEND(kind, default_device) discovery discover_##kind();
#include "backends/backends.inc"
#undef UNIBUF_BACKEND

}  // namespace unibuf::backends
