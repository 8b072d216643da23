// trace/recorder.cpp
#include "trace/recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "process/forks.hpp"
#include "process/lasting.hpp"
#include "process/mutex.hpp"
#include "trace/call_site.hpp"
#include "trace/contents.hpp"
#include "trace/file.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/error.hpp"

namespace unibuf {
namespace trace {
namespace {

using word = std::uint64_t;

word both(std::uint32_t low, std::uint32_t high) noexcept { return word{high} << 32 | low; }
std::uint32_t low_of(word both) noexcept { return static_cast<std::uint32_t>(both); }
std::uint32_t high_of(word both) noexcept { return static_cast<std::uint32_t>(both >> 32); }

/// Returns the members from event::kind to event::route.
word kinds_of(const event& of) noexcept {
    word result = 0;
    std::memcpy(&result, &of.kind, sizeof result);
    return result;
}
static_assert(offsetof(event, thread) - offsetof(event, kind) == sizeof(word));

/// A line of the cache, which one thread writes while others may read it.
class shared_line {
public:
    static constexpr std::size_t words = 8;

    template <class... Word>
    void set(std::size_t first, Word... all) noexcept {
        (words_[first++].store(all, std::memory_order_relaxed), ...);
    }
    std::array<word, words> get() const noexcept {
        std::array<word, words> result{};
        for (std::size_t i = 0; i < words; ++i) result[i] = words_[i].load(std::memory_order_relaxed);
        return result;
    }

    std::atomic<word>& first() noexcept { return words_[0]; }
    const std::atomic<word>& first() const noexcept { return words_[0]; }

private:
    std::array<std::atomic<word>, words> words_;
};

/// Memory whose pages are there when they are written for the first time.
template <class T>
class zeroed_array {
public:
    explicit zeroed_array(std::size_t size) : all_(static_cast<T*>(std::calloc(size, sizeof(T)))) {
        if (!all_) throw std::bad_alloc();
    }
    ~zeroed_array() { std::free(all_); }
    zeroed_array(const zeroed_array&) = delete;
    zeroed_array& operator=(const zeroed_array&) = delete;

    T& operator[](std::size_t index) noexcept { return all_[index]; }
    const T& operator[](std::size_t index) const noexcept { return all_[index]; }

private:
    T* all_;
};

/// The last events of a thread. Each has a line of what all events have, and a second one for what few have.
class ring {
public:
    explicit ring(std::size_t size) : lines_(size), rare_(size), size_(size) {}

    ring* next = nullptr;                 // among all rings
    std::atomic<std::uint64_t> left = 0;  // 0 where a thread has it, greater for those that were left later

    std::size_t size() const noexcept { return size_; }

    /// Leaves `made` as it is; event::spare is used meanwhile.
    void add(event& made) noexcept {
        const std::size_t place = next_;
        if (++next_ == size_) next_ = 0;
        shared_line& to = lines_[place];
        to.first().store(0, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
        const rest other = rest_of(made);
        if (other == rest::apart) {
            rare_[place].set(0, made.bytes, made.took, made.queue, made.row_bytes, both(made.counts[0], made.counts[1]),
                             made.pitches[0], made.pitches[1], made.news);
        }
        made.spare = static_cast<std::uint8_t>(other) & 3;
        to.set(1, kinds_of(made), both(made.thread, made.process), made.buffer, made.begin, made.end, made.site,
               both(low_of(made.number), low_of(made.took)));
        to.first().store(made.time, std::memory_order_release);
        made.spare = 0;
    }

    /// Calls visit(event) for each event.
    template <class Visit>
    void visit(const Visit& visit) const {
        for (std::size_t i = 0; i < size_; ++i) {
            const event found = get(i);
            if (found.kind != event_kind::none) visit(found);
        }
    }

    /// Does so, the newest first, until it returns false. Of the thread that adds alone.
    template <class Visit>
    void visit_backwards(const Visit& visit) const {
        for (std::size_t i = 0; i < size_; ++i) {
            const event found = get((next_ + size_ - 1 - i) % size_);
            if (found.kind == event_kind::none || !visit(found)) return;
        }
    }

private:
    /// What event::spare says here of the members that have no place in the first line.
    enum class rest : std::uint8_t {
        whole,  // `bytes` are all from `begin` to `end`, and the others are 0
        none,   // all are 0
        apart,  // they are in the second line
    };

    static rest rest_of(const event& made) noexcept {
        const bool is_rare = (high_of(made.took) | made.queue | made.row_bytes | made.news) != 0;
        if (!is_rare && made.bytes == made.end - made.begin) return rest::whole;
        return !is_rare && made.bytes == 0 ? rest::none : rest::apart;
    }

    /// Returns an event of the kind `none` where there is none, or it is changing.
    event get(std::size_t place) const noexcept {
        event result;
        result.time = lines_[place].first().load(std::memory_order_acquire);
        if (result.time == 0) return {};
        const auto [time, kinds, who, buffer, begin, end, site, number_and_took] = lines_[place].get();
        std::memcpy(&result.kind, &kinds, sizeof kinds);
        const auto other = static_cast<rest>(result.spare);
        const auto rare = other == rest::apart ? rare_[place].get() : std::array<word, shared_line::words>{};
        std::atomic_thread_fence(std::memory_order_acquire);
        if (lines_[place].first().load(std::memory_order_relaxed) != result.time) return {};
        result.spare = 0;
        result.thread = low_of(who);
        result.process = high_of(who);
        result.buffer = buffer;
        result.begin = begin;
        result.end = end;
        result.site = site;
        result.number = low_of(number_and_took);
        result.bytes = other == rest::whole ? end - begin : rare[0];
        result.took = other == rest::apart ? rare[1] : high_of(number_and_took);
        result.queue = rare[2];
        result.row_bytes = rare[3];
        result.counts[0] = low_of(rare[4]);
        result.counts[1] = high_of(rare[4]);
        result.pitches[0] = rare[5];
        result.pitches[1] = rare[6];
        result.news = rare[7];
        return result;
    }

    zeroed_array<shared_line> lines_;
    zeroed_array<shared_line> rare_;
    std::size_t size_;
    std::size_t next_ = 0;
};

std::atomic<std::size_t> ring_size = 1024;
constexpr std::size_t most_events = std::size_t{1} << 24;  // of a thread: 1 GiB

/// All rings. Those of threads that have ended are kept, for the events in them, until new threads take them.
class rings {
public:
    static rings& instance() {
        static process::lasting<rings> only;  // threads may end after static objects
        return *only;
    }

    /// Returns one that another thread has left, or a new one; null where there is no memory. Waits for nobody: while
    /// another thread is at work here, each gets a new one.
    ring* take(std::size_t size) noexcept {
        if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) {
            if (ring* const left = take_left(size)) return left;
        }
        try {
            ring* const made = new ring(size);
            made->next = newest_.load(std::memory_order_relaxed);
            while (!newest_.compare_exchange_weak(made->next, made, std::memory_order_release)) {
            }
            return made;
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
    }

    void give_back(ring& of) noexcept { of.left.store(++times_left_, std::memory_order_release); }

    template <class Visit>
    void visit(const Visit& visit) {
        const std::scoped_lock lock(mutex_);
        for (const ring* each = newest_.load(std::memory_order_acquire); each; each = each->next) each->visit(visit);
    }

private:
    static constexpr std::size_t most_kept = 16;

    /// Where many rings are left, returns the first of that size; those that are too many go, the first ones first.
    ring* take_left(std::size_t size) noexcept {
        for (;;) {
            ring* first = nullptr;
            ring* fits = nullptr;
            std::size_t count = 0;
            for (ring* each = newest_.load(std::memory_order_acquire); each; each = each->next) {
                const std::uint64_t left = each->left.load(std::memory_order_acquire);
                if (left == 0) continue;
                ++count;
                if (!first || left < first->left) first = each;
                if (each->size() == size && (!fits || left < fits->left)) fits = each;
            }
            if (count < most_kept) return nullptr;
            if (fits && (fits == first || count == most_kept)) {
                fits->left = 0;
                return fits;
            }
            destroy(*first);
        }
    }

    /// Others may add a ring meanwhile, in front of all; only this takes one out.
    void destroy(ring& gone) noexcept {
        ring* newest = &gone;
        if (!newest_.compare_exchange_strong(newest, gone.next, std::memory_order_acquire)) {
            while (newest->next != &gone) newest = newest->next;
            newest->next = gone.next;
        }
        delete &gone;
    }

    process::mutex mutex_;
    std::atomic<ring*> newest_ = nullptr;
    std::atomic<std::uint64_t> times_left_ = 0;
};

/// The ring of a thread, until that ends.
struct own_ring {
    ring* is = nullptr;
    bool has_ended = false;
};
thread_local constinit own_ring own_ring_of_thread;

struct gives_ring_back {
    ~gives_ring_back() {
        own_ring& own = own_ring_of_thread;
        own.has_ended = true;
        if (own.is) rings::instance().give_back(*std::exchange(own.is, nullptr));
    }
};

/// Returns the ring of the calling thread, with as many events as are to be kept; null where it has none.
ring* ring_of_thread() noexcept {
    own_ring& own = own_ring_of_thread;
    const std::size_t size = ring_size.load(std::memory_order_relaxed);
    if (own.is && own.is->size() == size) return own.is;
    if (own.has_ended) return nullptr;
    static thread_local const gives_ring_back ends;
    static_cast<void>(ends);
    if (own.is) rings::instance().give_back(*std::exchange(own.is, nullptr));
    if (size != 0) own.is = rings::instance().take(size);
    return own.is;
}

/// Returns the number of this process, which takes a system call in each forked one.
std::uint32_t this_process() noexcept {
    static std::atomic<std::uint64_t> known = 0;  // forks and 1 | process
    const auto forks = static_cast<std::uint64_t>(process::forks()) + 1;
    std::uint64_t seen = known.load(std::memory_order_relaxed);
    if (seen >> 32 != forks) {
        seen = forks << 32 | static_cast<std::uint32_t>(::getpid());
        known.store(seen, std::memory_order_relaxed);
    }
    return static_cast<std::uint32_t>(seen);
}

/// The names that the program gave buffers.
class buffer_names {
public:
    static buffer_names& instance() {
        static process::lasting<buffer_names> only;  // buffers may go when static objects do
        return *only;
    }

    void add(std::uint64_t buffer, std::string_view name) {
        const std::scoped_lock lock(mutex_);
        std::string& known = names_[buffer];
        known += known.empty() ? name : ", " + std::string(name);
        if (is_file_open()) write_text(named::buffer, buffer, known);
    }

    void remove(std::uint64_t buffer) {
        const std::scoped_lock lock(mutex_);
        names_.erase(buffer);
    }

    void write_all() {
        const std::scoped_lock lock(mutex_);
        for (const auto& [buffer, name] : names_) write_text(named::buffer, buffer, name);
    }

private:
    process::mutex mutex_;
    std::map<std::uint64_t, std::string> names_;
};

/// Writes the names of the spaces and the place of an event that a thread writes to the file for the first time.
void name_parts_of(const event& made) noexcept {
    constexpr std::uint64_t places = 256;
    static thread_local constinit std::array<std::uint64_t, places> sites_named{};
    static thread_local constinit std::uint32_t spaces_named = 0;
    static thread_local constinit std::uint64_t file = 0;
    if (file != number_of_files()) {
        file = number_of_files();
        sites_named = {};
        spaces_named = 0;
    }
    try {
        for (const std::uint8_t id : {made.from, made.to}) {
            if ((spaces_named >> id & 1) != 0) continue;
            spaces_named |= std::uint32_t{1} << id;
            write_text(named::space, id, space::from_id(id).name());
        }
        std::uint64_t& same = sites_named[made.site / 4 % places];
        if (same == made.site) return;
        same = made.site;
        write_text(named::site, made.site, describe_site(made.site));
    } catch (const std::bad_alloc&) {  // the names are a help, no more
    }
}

/// The details that the files which are open want, by who has asked for them.
std::array<std::atomic<trace_detail>, 2> details{};

void want_events() noexcept {
    bool wants_close = false;
    for (const asked_by who : {asked_by::environment, asked_by::program}) {
        wants_close |= is_file_open(who) && details[static_cast<std::size_t>(who)].load() == trace_detail::close;
    }
    wanted.store(ring_size.load() != 0 || is_file_open(), std::memory_order_relaxed);
    close.store(wants_close, std::memory_order_relaxed);
}

std::string write_trace_of(asked_by who, const std::string& file, trace_detail detail, existing other) {
    std::string name = open_file(who, file, other);
    details[static_cast<std::size_t>(who)].store(detail);
    want_events();
    buffer_names::instance().write_all();
    return name;
}

/// What the environment asks for. The file may have %p in its name, for the number of the process: then processes that
/// are forked off have one too, and no file is replaced.
struct asked_of_environment {
    std::string file;
    trace_detail detail = trace_detail::events;

    void begin() const {
        const std::size_t place = file.find("%p");
        std::string name = file;
        if (place != std::string::npos) name.replace(place, 2, std::to_string(::getpid()));
        write_trace_of(asked_by::environment, name, detail,
                       place == std::string::npos ? existing::replaced : existing::kept);
    }

    /// Begins, and says on stderr where that fails.
    void try_to_begin() const noexcept {
        try {
            begin();
        } catch (const std::exception& failure) {
            std::fprintf(stderr, "unibuf: UNIBUF_TRACE: %s\n", failure.what());
        }
    }
};

/// Null where the processes that are forked off have no file.
std::atomic<const asked_of_environment*> begins_when_forked = nullptr;
std::atomic<int> forks_when_begun = 0;

/// Begins a file of its own in a process that was forked off, where there is to be one.
void follow_fork() noexcept {
    const asked_of_environment* const asked = begins_when_forked.load(std::memory_order_acquire);
    if (!asked || forks_when_begun.exchange(process::forks()) == process::forks()) return;
    asked->try_to_begin();
}

/// Does what the environment asks for, while the library is loaded.
[[maybe_unused]] const bool asked_environment = [] {
    const char* const events = std::getenv("UNIBUF_EVENTS");
    const char* const file = std::getenv("UNIBUF_TRACE");
    if (events && *events) {
        std::size_t each_thread = 0;
        const char* const end = events + std::strlen(events);
        const auto [behind, failure] = std::from_chars(events, end, each_thread);
        if (behind == end && failure == std::errc{} && each_thread <= most_events) {
            keep_events(each_thread);
        } else {
            std::fprintf(stderr, "unibuf: UNIBUF_EVENTS: '%s' is no number of events, which are %zu at most\n", events,
                         most_events);
        }
    }
    const char* const close = std::getenv("UNIBUF_TRACE_CLOSE");
    const std::string_view how = close ? close : "";
    if (!how.empty() && how != "0" && how != "1") {
        std::fprintf(stderr, "unibuf: UNIBUF_TRACE_CLOSE: '%s' is neither 0 nor 1\n", close);
    }
    if (!file || !*file) return true;
    static const auto* const asked =
        new asked_of_environment{file, how == "1" ? trace_detail::close : trace_detail::events};
    asked->try_to_begin();
    if (asked->file.find("%p") == std::string::npos) return true;
    forks_when_begun.store(process::forks());
    begins_when_forked.store(asked, std::memory_order_release);
    return true;
}();

}  // namespace

std::uint64_t now() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

void sort(std::vector<event>& events) {
    std::ranges::sort(events, {}, [](const event& each) { return std::tuple(each.time, each.thread, each.number); });
}

void record(event& made) noexcept {
    if (made.time == 0) made.time = now();
    made.thread = detail::this_thread();
    made.process = this_process();
    thread_state& me = mine;
    if (made.site == 0) made.site = me.site != 0 ? me.site : call_site();
    made.is_batched = me.in_batch;
    made.number = ++me.events;
    if (ring* const kept = ring_of_thread()) kept->add(made);
    if (begins_when_forked.load(std::memory_order_relaxed)) follow_fork();
    if (!is_file_open()) return;
    name_parts_of(made);
    append(made);
}

void visit_own(const std::function<bool(const event&)>& visit) {
    if (const ring* const kept = own_ring_of_thread.is) kept->visit_backwards(visit);
}

void visit_all(const std::function<void(const event&)>& visit) { rings::instance().visit(visit); }

void name_buffer(std::uint64_t buffer, std::string_view name) noexcept {
    try {
        buffer_names::instance().add(buffer, name);
    } catch (const std::bad_alloc&) {  // the names are a help, no more
    }
}

void forget_name(std::uint64_t buffer) noexcept { buffer_names::instance().remove(buffer); }

std::string place_of_allocation(std::uint64_t buffer, std::uint8_t space) {
    event last;
    visit_all([&](const event& each) {
        const bool same = each.kind == event_kind::allocation && each.buffer == buffer && each.to == space;
        if (same && each.time > last.time) last = each;
    });
    return last.site != 0 ? describe_site(last.site) : std::string();
}

}  // namespace trace

std::vector<event> recorded_events() {
    std::vector<event> result;
    trace::visit_all([&](const event& each) { result.push_back(each); });
    trace::sort(result);
    return result;
}

void keep_events(std::size_t each_thread) {
    trace::ring_size.store(std::min(each_thread, trace::most_events), std::memory_order_relaxed);
    trace::want_events();
}

std::string write_trace(const std::string& file, trace_detail detail) {
    return trace::write_trace_of(trace::asked_by::program, file, detail, trace::existing::replaced);
}

bool is_tracing() noexcept { return trace::is_file_open(); }

void stop_trace() {
    trace::close_file(trace::asked_by::program);
    trace::want_events();
    if (!trace::is_close()) trace::forget_contents();
}

}  // namespace unibuf
