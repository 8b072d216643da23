// doubles/metal/gpu.hpp: the GPU of the double, which does work late, and in the order of each queue only.
//
// It has its own sight of memory that it shares with the host: what the host writes it sees once a command buffer is
// committed that uses the memory, and the host sees what it has written when the command buffer is completed.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "doubles/metal/runtime.hpp"

namespace metal_double {

using ns_uinteger = unsigned long;

/// Calls visit(begin, end) for each run of bytes in which two memories differ. Equal bytes are skipped many at a time,
/// as a loop over them takes long under the sanitizers.
template <class Visit>
void for_each_difference(const std::byte* one, const std::byte* other, std::size_t bytes, const Visit& visit) {
    constexpr std::size_t many = 256;
    std::size_t at = 0;
    while (at < bytes) {
        const std::size_t next = std::min(many, bytes - at);
        if (std::memcmp(one + at, other + at, next) == 0) {
            at += next;
            continue;
        }
        while (one[at] == other[at]) ++at;
        const std::size_t begin = at;
        while (at < bytes && one[at] != other[at]) ++at;
        visit(begin, at);
    }
}

class device;

class buffer final : public object {
public:
    static const type about;

    /// Memory of the GPU alone, or shared: of the double's own or the program's at `pages`.
    buffer(std::size_t bytes, bool is_shared, std::byte* pages);
    ~buffer() override;

    std::size_t size() const { return gpu_.size(); }
    std::byte* at_gpu() { return gpu_.data(); }
    std::byte* at_host() { return host_; }

    /// A piece of content.
    struct piece {
        std::size_t offset;
        std::vector<std::byte> bytes;
    };

    /// Returns what the host has written since it was last asked.
    std::vector<piece> written_by_host();
    void see(const piece& written);

    /// Lets the host see what the GPU has in the range.
    void show(std::size_t offset, std::size_t bytes);

private:
    bool own_;
    std::byte* host_ = nullptr;
    std::vector<std::byte> memory_;  // the host's, where it is the double's own
    std::vector<std::byte> gpu_;
    std::vector<std::byte> seen_;  // of the host's, what the GPU will see or has made
};

class shared_event final : public object {
public:
    static const type about;
    shared_event() : object(about) {}

    std::uint64_t value = 0;  // the GPU's mutex guards it
};

class queue final : public object {
public:
    static const type about;
    queue(device& by, std::size_t most) : object(about), made_by(by), most_uncompleted(most) {}

    device& made_by;
    const std::size_t most_uncompleted;
    std::size_t uncompleted = 0;  // the GPU's mutex guards it
};

class commands final : public object {
public:
    static const type about;
    explicit commands(queue& on);
    ~commands() override;

    enum status : ns_uinteger { not_enqueued = 0, committed = 2, completed = 4, failed = 5 };

    /// Returns false where it cannot be done yet.
    using command = std::function<bool()>;

    void add(command next) { todo_.push_back(std::move(next)); }

    /// Lets the work fail with this code when its turn comes.
    void fail(long code);

    /// Does the next command. Returns false where it cannot be done yet.
    bool step();
    bool is_done() const { return todo_.empty(); }
    long failure() const { return failure_; }

    /// Puts what the host has written before all commands.
    void see_host();

    /// Notes that a command uses the buffer.
    void use(buffer* used);

    /// Notes, while a command is done, that it has written.
    void has_written(buffer& to, std::size_t offset, std::size_t bytes);

    void check_open() const;

    reference<queue> on;
    object* encoder = nullptr;    // the one that is open
    status state = not_enqueued;  // the GPU's mutex guards this
    reference<object> error;      // and this

    /// Lets the host see what was written.
    void show_host();

private:
    struct written {
        reference<buffer> to;
        std::size_t offset;
        std::size_t bytes;
    };
    std::deque<command> todo_;
    std::vector<reference<buffer>> buffers_;
    std::vector<written> results_;
    long failure_ = 0;
};

/// Does what was committed, on a thread of its own.
class gpu {
public:
    static gpu& only();

    /// Returns whether this is the thread that does the work.
    static bool is_this_thread();

    void commit(commands& what);
    void wait(commands& what);

    /// Stops this thread until the queue takes another command buffer, and counts it.
    void enter(queue& on);
    void leave(queue& on);

    std::uint64_t value_of(shared_event& event);
    void set_value(shared_event& event, std::uint64_t value);

    std::mutex mutex;

private:
    gpu();
    void work();
    bool step(commands& first);
    void finish(commands& what);

    std::condition_variable changed_;
    std::vector<std::pair<queue*, std::deque<reference<commands>>>> lines_;
    std::uint64_t random_ = 1;
    std::thread thread_;
};

}  // namespace metal_double
