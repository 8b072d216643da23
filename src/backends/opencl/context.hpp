// backends/opencl/context.hpp: one device's context, and the order of work in it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "backends/opencl/event.hpp"
#include "backends/opencl/queue_end.hpp"
#include "unibuf/opencl.hpp"

namespace unibuf::backends::cl {

/// A context with a queue of this backend's own, and all queues that leases have named.
///
/// OpenCL has no order between queues, and no way to ask a context for its queues. So the queues that leases name are
/// kept, and work that names none is put behind all of them. Any thread.
///
/// Work of unibuf's that names an out-of-order queue goes to a queue beside it, which is in order; a barrier lets what
/// comes later on the named one wait for it. order() sets barriers on both.
///
/// A queue that the program has released is forgotten. If a hold still names it, its work is on the own queue, which is
/// behind all that was on the other; a new queue may get its handle, and is known once an access names it. It is
/// released when its work is done: Intel's runtime waits for itself for ever where the last event of a queue takes the
/// queue along.
class context {
public:
    /// Where unibuf's commands go.
    struct target {
        cl_command_queue queue;
        cl_command_queue out_of_order = nullptr;  // the queue that was named, which submitted() lets wait for them
    };

    /// Makes context and queue. `description` names the device in errors.
    context(cl_device_id device, std::string description);

    /// Adopts the caller's context, device and queue, which are retained.
    context(const opencl::handles& callers, std::string description);

    // Buffers may go when static objects do, after the driver has gone, so nothing is released here: a context is made
    // once for each device and lives as long as the process; see release().
    ~context() = default;
    context(const context&) = delete;
    context& operator=(const context&) = delete;

    const opencl::handles& handles() const noexcept { return handles_; }
    const std::string& description() const noexcept { return description_; }
    bool runs_native_functions() const noexcept { return native_functions_; }

    /// Returns where an operation goes to: to `on`, or, where it names none, to the own queue, after all work that was
    /// put on any known queue before. Throws error(invalid_argument) for a queue of another context or device.
    target queue_for(queue on);

    /// Keeps a queue that the program names now, and returns what device::identify does. Throws as queue_for does.
    std::uint64_t identify(queue on);

    /// Returns a queue on which nothing ever waits, for work that has no earlier work to wait for.
    cl_command_queue idle_queue();

    /// Returns a fence after all work on `queue`, which is started.
    fence mark(cl_command_queue queue);

    /// Does so for the queue that the program names now; where it names none, for all known queues.
    fence record(queue on);

    void retain(cl_command_queue queue) const;

    /// Returns the end of `on`, or, where it names none, of all queues that are known now. Throws as queue_for does.
    fence end_of(queue on);

    /// Makes the end one that later calls of end_of do not share.
    void close(const queue_end& end);

    /// Waits until all work on `queue` is done.
    void finish(cl_command_queue queue);

    /// Makes work that is put on queue_for(on) from now on wait for `before`. Returns false where that is no work of
    /// this context.
    bool order(const fence& before, queue on);

    /// Counts an allocation that is made or freed.
    void count_memory(int more) noexcept { memories_.fetch_add(more, std::memory_order_acq_rel); }

    /// Returns how many queues this has, if nobody else has one of them, and there is no memory in the context; else 0.
    std::size_t queues_left_alone();

    /// Releases the queues and the context. Nobody uses this object from then on.
    void release();

    /// Starts the work that is on `queue`.
    void start(cl_command_queue queue);

    /// Starts the work that is on a queue, and makes its last event a fence. Where it throws, nothing goes on any more.
    fence submitted(const target& on, event last);

private:
    /// A queue that a lease has named.
    struct known_queue {
        cl_command_queue queue;        // retained, so that no other queue gets the address of one
        std::weak_ptr<queue_end> end;  // if somebody has it and nobody has asked for it
        std::uint64_t number = 0;
        cl_command_queue in_order = nullptr;  // the queue beside one that is out of order
    };

    /// A queue that is forgotten, and whose work may not be done.
    struct leaving_queue {
        known_queue of;
        event end;
    };

    static constexpr std::size_t least_to_look = 8;

    cl_command_queue make_queue();
    std::vector<cl_command_queue> all_queues() const;

    // These need the mutex.
    known_queue* find(cl_command_queue named) noexcept;
    known_queue& remember(cl_command_queue named);
    fence end_of(known_queue& of);

    /// Puts the own queue behind these, and returns the end of each.
    std::vector<event> join(std::span<const known_queue> queues);

    /// Forgets queues that nobody but this context holds any more. What is on them comes before later work all the
    /// same.
    void forget_released();
    void release_done() noexcept;
    static void release(const known_queue& of) noexcept;
    void set_barrier(cl_command_queue on, std::span<const cl_event> after);
    void set_barrier_out_of_order(cl_command_queue on, cl_event after);

    void check_usable(cl_command_queue named) const;

    opencl::handles handles_;
    std::string description_;
    bool native_functions_;
    bool finishes_early_;
    std::mutex mutex_;
    known_queue own_{};  // the own queue
    std::vector<known_queue> named_;
    std::vector<leaving_queue> leaving_;
    std::unordered_set<cl_command_queue> forgotten_;  // handles of queues that were named, and have been released
    std::size_t look_from_ = least_to_look;           // so many named queues are worth a look for released ones
    std::uint64_t numbers_ = 1;                       // that queues have got; the own one has 1
    std::mutex barriers_;
    cl_command_queue idle_ = nullptr;
    std::atomic<int> memories_ = 0;
};

/// Throws error(invalid_argument) for a queue that only kernels may put work on.
void check_is_of_host(cl_command_queue queue);

/// Returns what a queue says of itself: `what` is one of the queue_ constants.
template <class Value>
Value queue_info(cl_command_queue queue, cl_uint what) {
    Value value{};
    const cl_int status = api().clGetCommandQueueInfo(queue, what, sizeof value, &value, nullptr);
    if (status != success) fail(status, "OpenCL does not know this queue", error_code::invalid_argument);
    return value;
}

}  // namespace unibuf::backends::cl
