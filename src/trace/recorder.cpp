// trace/recorder.cpp: keeps the last events of each thread, and writes them where a file is wanted.
#include "trace/recorder.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
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
#include "trace/ring.hpp"
#include "unibuf/detail/gate.hpp"
#include "unibuf/error.hpp"

namespace unibuf {
namespace trace {
namespace {

std::atomic<std::size_t> ring_size = 1024;
constexpr std::size_t most_events = std::size_t{1} << 24;  // of a thread: 1 GiB

void give_ring_back(thread_state& of) noexcept {
    if (of.kept) rings::instance().give_back(*std::exchange(of.kept, nullptr));
}

struct gives_ring_back {
    ~gives_ring_back() {
        mine.has_ended = true;
        give_ring_back(mine);
    }
};

/// Gives the calling thread a ring of so many events, if it does not end.
[[gnu::noinline]] void take_ring(thread_state& me, std::size_t size) noexcept {
    if (me.has_ended) return;
    static thread_local const gives_ring_back ends;
    static_cast<void>(ends);
    give_ring_back(me);
    if (size != 0) me.kept = rings::instance().take(size);
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
    const std::size_t size = ring_size.load(std::memory_order_relaxed);
    if (!me.kept || me.kept->size() != size) take_ring(me, size);
    if (me.kept) me.kept->add(made);
    if (begins_when_forked.load(std::memory_order_relaxed)) follow_fork();
    if (!is_file_open()) return;
    name_parts_of(made);
    append(made);
}

namespace {

event written_at_host(event_kind kind, std::uint64_t buffer, byte_range written) noexcept {
    event made{.kind = kind, .what = access::write, .to = host.id(), .buffer = buffer};
    made.begin = written.begin;
    made.end = written.end;
    made.bytes = written.size();
    return made;
}

/// Writes why no write is found to the file, once for each thread and file.
void name_untracked(std::string (*why)()) noexcept {
    static thread_local constinit std::uint64_t file = 0;
    if (!is_file_open() || file == number_of_files()) return;
    try {
        write_text(named::untracked, 0, why());
        file = number_of_files();
    } catch (const std::bad_alloc&) {  // the next event tries again
    }
}

}  // namespace

void record_found(std::uint64_t buffer, byte_range written) noexcept {
    if (!is_on()) return;
    event made = written_at_host(event_kind::found, buffer, written);
    record(made);
}

void record_assumed(std::uint64_t buffer, byte_range written, std::string (*why_untracked)()) noexcept {
    if (!is_on()) return;
    event made = written_at_host(event_kind::assumed, buffer, written);
    made.untracked = why_untracked != nullptr;
    record(made);
    if (why_untracked) name_untracked(why_untracked);
}

void record_assumed_of_others(std::uint64_t buffer, byte_range written) noexcept {
    if (!is_on()) return;
    event made = written_at_host(event_kind::assumed, buffer, written);
    made.by_others = true;
    record(made);
}

void visit_own(const std::function<bool(const event&)>& visit) {
    if (mine.kept) mine.kept->visit_backwards(visit);
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
