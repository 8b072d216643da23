// unibuf/mpi.hpp: buffers between machines, by the program's own MPI. Nothing else in unibuf knows MPI.
//
// What is sent is packed under a short lease, from where it is newest, and what has come is unpacked under one: just
// these bytes move, and no lease is held while a message is under way. Messages lie in host memory of their own; MPI
// sees no device memory. Every call of MPI is made on the caller's thread, with no lock of a buffer held.
//
// Errors are unibuf::error: transfer_failed with what MPI says, where its error handler returns; invalid_argument where
// MPI may not be called now, or not on this thread; and what the lease of the bytes throws.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "unibuf/detail/halo_messages.h"
#include "unibuf/detail/mpi_messages.h"
#include "unibuf/unibuf.hpp"

namespace unibuf::mpi {

namespace detail {

/// The room for what a failure is about.
struct failure {
    char text[512] = {};

    void must(unibuf_status status) const {
        if (status != UNIBUF_OK) throw error(static_cast<error_code>(status - 1), text);
    }
};

template <class View>
struct element_of;
template <template <class> class View, class T>
struct element_of<View<T>> {
    using type = T;
};

/// The elements of a view, one after the other.
template <class T>
class packed {
public:
    explicit packed(std::size_t size) : size_(size) {}

    /// Throws error(out_of_memory).
    void allocate() {
        try {
            elements_ = std::make_unique_for_overwrite<T[]>(size_);
        } catch (const std::bad_alloc&) {
            throw error(error_code::out_of_memory,
                        "memory for a message of " + std::to_string(size_bytes()) + " bytes was asked for");
        }
    }

    std::span<T> span() noexcept { return {elements_.get(), size_}; }
    char* bytes() noexcept { return reinterpret_cast<char*>(elements_.get()); }
    std::size_t size_bytes() const noexcept { return size_ * sizeof(T); }

private:
    std::unique_ptr<T[]> elements_;
    std::size_t size_;
};

template <class View>
auto packed_as(const View& view) {
    return packed<typename element_of<std::remove_cvref_t<View>>::type>(view.size());
}

/// Copies out what is newest, wherever that is. A view with steps goes by way of the host.
template <class View, class T>
void copy_out(const View& view, std::span<T> message) {
    const buffer& bytes = view.bytes();
    if (bytes.size_bytes() != message.size_bytes()) return view.copy_to(message);
    bytes.copy_to(std::as_writable_bytes(message), bytes.current_at());
}

}  // namespace detail

/// Sends the newest content of a buffer or a view, wherever it is, as one message of MPI. Returns when the buffer may
/// be written again; waits as MPI_Send does.
template <class View>
void send(const View& view, int to, int tag, MPI_Comm comm) {
    detail::failure failed;
    failed.must(unibuf_mpi_usable(failed.text, sizeof failed.text));
    if (to == MPI_PROC_NULL) return;
    auto message = detail::packed_as(view);
    message.allocate();
    detail::copy_out(view, message.span());
    failed.must(
        unibuf_message_send(message.bytes(), message.size_bytes(), to, tag, comm, failed.text, sizeof failed.text));
}

/// Receives what send() has sent, and writes just these bytes. `from` and `tag` may be MPI_ANY_SOURCE and MPI_ANY_TAG.
///
/// Throws error(timeout) where no message has come in time, and error(invalid_argument) for one of another size. Both
/// leave the buffer as it was, and the message, when it comes, whole to the next call. Threads that receive the same
/// get messages of their size alone.
template <class View>
void recv(View&& view, int from, int tag, MPI_Comm comm, std::chrono::nanoseconds timeout = forever) {
    detail::failure failed;
    failed.must(unibuf_mpi_usable(failed.text, sizeof failed.text));
    if (from == MPI_PROC_NULL) return;
    auto message = detail::packed_as(view);
    message.allocate();
    failed.must(unibuf_message_receive(message.bytes(), message.size_bytes(), from, tag, comm, timeout.count(),
                                       failed.text, sizeof failed.text));
    view.copy_from(message.span());
}

/// Gives all processes of `comm` what `root` has in a buffer or a view. All call it, with views of the same size; where
/// the sizes differ, one has no memory for the message, or the content cannot be read at `root`, all throw.
template <class View>
void bcast(View&& view, int root, MPI_Comm comm) {
    detail::failure failed;
    failed.must(unibuf_mpi_usable(failed.text, sizeof failed.text));
    auto message = detail::packed_as(view);
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    std::exception_ptr unread;
    try {
        message.allocate();
        if (rank == root) detail::copy_out(view, message.span());
    } catch (...) {
        unread = std::current_exception();
    }
    const unibuf_status status =
        unibuf_message_broadcast(message.bytes(), message.size_bytes(), root, comm,
                                 unread ? UNIBUF_TRANSFER_FAILED : UNIBUF_OK, failed.text, sizeof failed.text);
    if (unread) std::rethrow_exception(unread);
    failed.must(status);
    if (rank != root) view.copy_from(message.span());
}

/// How a grid is cut among processes, axis by axis; an axis that a list does not reach has 0 there.
struct halo_options {
    std::vector<std::size_t> ghosts = {1};  // how many at either end; an axis without is not cut
    std::vector<bool> periodic = {};        // whether the last process is a neighbour of the first
    std::vector<int> ranks = {};            // how many processes; 0 lets MPI choose
    bool corners = false;                   // whether ghosts at edges and corners are exchanged too
    std::chrono::nanoseconds timeout = forever;
};

/// What has gone to one neighbour, and come from there, until now.
struct halo_neighbour {
    int rank = 0;
    std::vector<int> direction;  // -1, 0 or 1 along each axis
    int tag = 0;                 // of what goes there
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
};

struct halo_statistics {
    std::uint64_t exchanges = 0;
    std::vector<halo_neighbour> neighbours;
    // What moved between the fields' copies, for whoever it was, since the halo was made.
    std::uint64_t bytes_from_devices = 0;
    std::uint64_t bytes_to_devices = 0;
};

/// The ghosts of one or several fields, which are the cells of neighbours.
///
///     mpi::halo edges(MPI_COMM_WORLD, {.ghosts = {1, 1}, .periodic = {true, false}}, height, velocity);
///     edges.exchange();
///
/// Up to three axes of a grid are cut among the processes of a communicator, by its own Cartesian topology where it has
/// one, else by one that MPI makes, with the ranks in their order. Fields have one shape, in which ghosts are counted:
/// the first and the last `ghosts` elements along each axis that is cut. Where there is no neighbour, ghosts are left
/// alone. What goes to a neighbour is one message, of all fields.
///
/// All processes make a halo, exchange and end it in the same order. Where shapes, ghosts or elements do not fit, the
/// constructor throws error(invalid_argument) at all of them. A halo has a communicator and message memory of its own,
/// bound to persistent requests, and keeps the fields. One thread at a time uses it. It ends before MPI_Finalize; after
/// that its end leaves MPI alone.
class halo {
public:
    template <class... T>
    halo(MPI_Comm comm, const halo_options& options, unified_buffer<T>&... fields) : timeout_(options.timeout) {
        static_assert(sizeof...(T) > 0 && sizeof...(T) <= UNIBUF_HALO_FIELDS);
        const auto& shape = std::get<0>(std::tie(fields...)).shape();
        const bool agree = ((fields.shape() == shape) && ...);
        std::exception_ptr unfit;
        try {
            (add({fields.bytes().view(0, fields.size_bytes()), sizeof(T), alignof(T)}), ...);
        } catch (...) {
            unfit = std::current_exception();  // the others are told
        }
        open(comm, options, shape, agree, unfit);
    }
    halo(halo&&) noexcept = default;
    halo& operator=(halo&&) noexcept = default;

    /// Starts to send the cells at the sides, as they are now. The inside may be computed, and everything may be
    /// leased, until finish(). Where a side is leased, this throws what the lease throws, and nothing has begun.
    void begin() {
        check(unibuf_messages_may_begin(messages_.get()));
        if (strips_.empty()) cut_strips();
        for (strip& each : strips_) {
            // With corners, cells go to several neighbours: they come to the host's copy once, for all of these.
            if (!messages_->shape.corners) each.by = each.out.current_at();
            each.out.copy_to(each.outgoing, each.by);
        }
        check(unibuf_messages_start(messages_.get()));
    }

    /// Lets MPI work, which it does in calls alone, and returns whether all messages have come and gone.
    bool poll() {
        bool arrived = false;
        check(unibuf_messages_poll(messages_.get(), &arrived));
        return arrived;
    }

    /// Waits for what the neighbours have sent, and writes the ghosts.
    ///
    /// Throws error(timeout) where a message has not come or gone in time, with its neighbour and tag; what a lease
    /// throws where a ghost is leased. In both cases nothing is lost, and finish() may be called again.
    void finish() { finish(timeout_); }
    void finish(std::chrono::nanoseconds timeout) {
        check(unibuf_messages_wait(messages_.get(), timeout.count()));
        for (strip& each : strips_) each.in.copy_from(each.incoming, each.by);
        unibuf_messages_finished(messages_.get());
    }

    void exchange() {
        begin();
        finish();
    }

    /// The place of this process along each axis, and how many there are along it.
    std::span<const int> coordinates() const noexcept { return {messages_->coordinates, messages_->shape.axes}; }
    std::span<const int> ranks() const noexcept { return {messages_->shape.ranks, messages_->shape.axes}; }

    halo_statistics statistics() const {
        halo_statistics result;
        result.exchanges = messages_->exchanges;
        for (const unibuf_halo_side& side : std::span(messages_->sides, messages_->count)) {
            const std::uint64_t bytes = side.bytes * messages_->exchanges;
            const auto* const direction = side.direction;
            result.neighbours.push_back(
                {side.rank, {direction, direction + messages_->shape.axes}, side.place, bytes, bytes});
        }
        const auto [from_devices, to_devices] = moved();
        result.bytes_from_devices = from_devices - from_devices_before_;
        result.bytes_to_devices = to_devices - to_devices_before_;
        return result;
    }

private:
    struct field {
        buffer content;
        std::size_t element = 0;
        std::size_t alignment = 0;
    };
    /// What goes to one neighbour of one field, and what comes, with their places in the messages.
    struct strip {
        buffer out;
        buffer in;
        std::span<std::byte> outgoing;
        std::span<const std::byte> incoming;
        space by = host;  // where the cells were that have gone: the ghosts are put there
    };
    struct closing {
        void operator()(unibuf_halo_messages* messages) const noexcept {
            unibuf_messages_close(messages);
            delete messages;
        }
    };

    /// Puts a field behind those of its alignment or more, so that no element in a message lies askew.
    void add(field of) {
        const auto less =
            std::ranges::find_if(fields_, [&](auto each) { return each < of.alignment; }, &field::alignment);
        fields_.insert(less, std::move(of));
    }

    /// What is wrong with a field, and what it says.
    static std::pair<unibuf_status, std::string> told(const std::exception_ptr& unfit) {
        try {
            std::rethrow_exception(unfit);
        } catch (const error& wrong) {
            return {static_cast<unibuf_status>(static_cast<int>(wrong.code()) + 1), std::string(wrong.message())};
        } catch (const std::exception&) {
            return {UNIBUF_OUT_OF_MEMORY, "memory for a halo was asked for"};
        }
    }

    void open(MPI_Comm comm, const halo_options& options, const unibuf::shape& shape, bool agree,
              const std::exception_ptr& unfit) {
        unibuf_halo_shape grid = {};
        grid.axes = shape.rank();
        grid.corners = options.corners;
        std::ranges::copy(shape.extents(), grid.extents);
        const std::size_t axes = grid.axes;
        const bool fit =
            options.ghosts.size() <= axes && options.periodic.size() <= axes && options.ranks.size() <= axes;
        if (fit) {
            std::ranges::copy(options.ghosts, grid.ghosts);
            std::ranges::copy(options.periodic, grid.periodic);
            std::ranges::copy(options.ranks, grid.ranks);
        }
        for (const field& each : fields_) grid.element_sizes[grid.fields++] = each.element;
        messages_.reset(new unibuf_halo_messages());
        messages_->comm = MPI_COMM_NULL;
        std::pair<unibuf_status, std::string> fault = {UNIBUF_OK, ""};
        if (!agree) fault = {UNIBUF_INVALID_ARGUMENT, "the fields of a halo have one shape"};
        if (!fit) {
            fault = {UNIBUF_INVALID_ARGUMENT,
                     "the options are of more axes than the fields, which have " + std::to_string(axes)};
        }
        if (unfit) fault = told(unfit);
        std::snprintf(messages_->message, sizeof messages_->message, "%.500s", fault.second.c_str());
        check(unibuf_messages_open(messages_.get(), comm, &grid, fault.first));
        std::tie(from_devices_before_, to_devices_before_) = moved();
    }

    void cut_strips() {
        std::vector<strip> strips;
        for (const unibuf_halo_side& side : std::span(messages_->sides, messages_->count)) {
            std::size_t at = 0;
            for (field& each : fields_) {
                const std::size_t bytes = side.elements * each.element;
                strips.push_back({box_of(each, side.out, side.count),
                                  box_of(each, side.in, side.count),
                                  {reinterpret_cast<std::byte*>(side.outgoing + at), bytes},
                                  {reinterpret_cast<const std::byte*>(side.incoming + at), bytes}});
                at += bytes;
            }
        }
        strips_ = std::move(strips);
    }

    buffer box_of(field& of, const std::size_t* start, const std::size_t* count) const {
        const std::span extents(messages_->shape.extents, messages_->shape.axes);
        std::array<slice, UNIBUF_HALO_AXES> along{};
        for (std::size_t axis = 0; axis < extents.size(); ++axis)
            along[axis] = {start[axis], start[axis] + count[axis]};
        return of.content.view(unibuf::shape::of(extents), of.element, std::span(along).first(extents.size()));
    }

    void check(unibuf_status status) const {
        if (status != UNIBUF_OK) throw error(static_cast<error_code>(status - 1), messages_->message);
    }

    std::pair<std::uint64_t, std::uint64_t> moved() const {
        std::pair<std::uint64_t, std::uint64_t> result;
        for (const field& each : fields_) {
            for (const transfer_count& made : each.content.statistics().transfers) {
                if (made.from != host) result.first += made.bytes;
                if (made.to != host) result.second += made.bytes;
            }
        }
        return result;
    }

    std::unique_ptr<unibuf_halo_messages, closing> messages_;
    std::vector<field> fields_;
    std::vector<strip> strips_;
    std::chrono::nanoseconds timeout_;
    std::uint64_t from_devices_before_ = 0;
    std::uint64_t to_devices_before_ = 0;
};

}  // namespace unibuf::mpi
