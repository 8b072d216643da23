// tests/cli/faults.cpp: programs that each have one fault that the doctor finds, and twins of them without it.
//
// faults NAME [mended]: the line that causes the fault is the one that ends with its name. A program and its mended
// twin are one function, so that they differ in nothing but what mends it.
#include <sys/wait.h>
#include <unistd.h>
#include <unibuf/memory_pool.hpp>
#include <unibuf/trace.hpp>
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using unibuf::host;
using unibuf::unified_buffer;

constexpr std::size_t count = 100'000;
constexpr int steps = 10;

bool mended = false;

unibuf::space device() { return unibuf::space("debug:0"); }

/// Stands for a kernel that changes all of the field.
void advance(unified_buffer<float>& field) {
    for (float& each : field.read_write(device())) each += 1;
}

/// Stands for a kernel that reads the field.
float sum(unified_buffer<float>& field) {
    float result = 0;
    for (const float each : field.read(device())) result += each;
    return result;
}

void set(unified_buffer<float>& field, float value) {
    for (float& each : field.write(host)) each = value;
}

float largest(unified_buffer<float>& field) {
    float result = 0;
    for (const float each : field.read(host)) result = std::max(result, each);
    return result;
}

/// The host looks at what the device computes, and says that it writes.
void round_trip() {
    unified_buffer<float> field({count});
    set(field, 1);
    for (int step = 0; step < steps; ++step) {
        advance(field);
        if (mended) {
            largest(field);
            continue;
        }
        float most = 0;
        for (const float each : field.read_write(host)) most = std::max(most, each);  // round_trip
    }
    sum(field);
}

/// Each frame is brought back before the next one takes its place.
void overwritten_fetch() {
    unified_buffer<float> frame({count});
    set(frame, 1);
    for (int step = 0; step < steps; ++step) {
        advance(frame);
        if (!mended) frame.sync_to_host();  // overwritten_fetch
        set(frame, static_cast<float>(step));
    }
    sum(frame);
}

/// Each result is brought back, and only the last is looked at.
void unread_copy() {
    unified_buffer<float> field({count});
    set(field, 1);
    for (int step = 0; step < steps; ++step) {
        advance(field);
        if (!mended) field.prefetch(host);  // unread_copy
    }
    largest(field);
}

/// The host does one of the steps, which the device could do.
void ping_pong() {
    unified_buffer<float> field({count});
    set(field, 1);
    for (int step = 0; step < steps; ++step) {
        advance(field);
        for (float& each : field.read_write(mended ? device() : host)) each *= 0.75F;  // ping_pong
    }
    largest(field);
}

/// The host changes the edge, and leases all.
void whole_for_part() {
    unified_buffer<float> field({count});
    set(field, 1);
    for (int step = 0; step < steps; ++step) {
        advance(field);
        if (mended) {
            field.read_write(host, {.count = 4})[0] = 0;
        } else {
            field.read_write(host)[0] = 0;  // whole_for_part
        }
    }
    sum(field);
}

/// Row after row goes to the device.
void many_small() {
    constexpr std::size_t rows = 200;
    unified_buffer<float> field({rows, count / rows});
    set(field, 1);
    if (mended) {
        sum(field);
        return;
    }
    for (std::size_t row = 0; row < rows; ++row) {
        auto of_row = field.read(device(), {.offset = row * (count / rows), .count = count / rows});  // many_small
    }
}

/// Each step makes its own scratch memory.
void churn() {
    unified_buffer<float> field({count});
    unibuf::memory_pool pool;
    set(field, 1);
    for (int step = 0; step < steps; ++step) {
        const auto use = [&](unified_buffer<float>& scratch) {
            auto to = scratch.write(device());  // churn
            const auto from = field.read(device());
            for (std::size_t i = 0; i < count; ++i) to[i] = 2 * from[i];
        };
        if (mended) {
            unibuf::pooled<float> scratch(pool, {count});
            use(*scratch);
        } else {
            unified_buffer<float> scratch({count});
            use(scratch);
        }
    }
}

/// A handle that ends nothing by itself, as those of C and Fortran, is assigned anew in each step; in the mended twin
/// all are used at the end.
void lost() {
    static auto& kept =
        *new std::vector<std::unique_ptr<unified_buffer<float>>>;  // so that nobody finds them lost but us
    for (int step = 0; step < steps; ++step) {
        kept.push_back(std::make_unique<unified_buffer<float>>(unibuf::shape{count}));
        kept.back()->fill(1);  // lost
    }
    for (const auto& each : kept) {
        if (mended) largest(*each);
    }
}

/// Two buffers are used in turn where there is room for one.
void thrash() {
    unified_buffer<float> one({count}), other({count});
    set(one, 1);
    set(other, 2);
    unibuf::limit_memory(device(), (mended ? 3 : 1) * count * sizeof(float) + 4096);
    for (int step = 0; step < steps; ++step) {
        for (unified_buffer<float>* each : {&one, &other}) {
            each->read(device()).release();  // thrash
        }
    }
}

/// A thread keeps its lease while it does something else, and another one waits for the bytes.
void long_lease() {
    unified_buffer<float> field({count});
    set(field, 1);
    auto lease = field.read_write(host);  // long_lease
    lease[0] = 2;
    if (mended) lease.release();
    std::thread other([&] { set(field, 3); });
    if (mended) other.join();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    lease.release();
    if (!mended) other.join();
    sum(field);
}

/// The device is told of news that there are none of.
void mark_without_write() {
    unified_buffer<float> field({count});
    set(field, 1);
    for (int step = 0; step < steps; ++step) {
        sum(field);
        if (mended) field.host()[step] = 7;
        const std::size_t written = mended ? 1 : unibuf::rest;
        field.mark_host_dirty(mended ? static_cast<std::size_t>(step) : 0, written);  // mark_without_write
    }
}

/// All is marked each time, for one element: in the first step that has the value that it had.
void all_marked() {
    unified_buffer<float> field({count});
    set(field, 0);
    for (int step = 0; step < steps; ++step) {
        sum(field);
        field.host()[0] = static_cast<float>(step);
        field.mark_host_dirty(0, mended ? 1 : unibuf::rest);  // all_marked
    }
}

/// The host fills what the device uses first.
void filled_at_host() {
    unified_buffer<float> field({count});
    if (mended) field.fill(1, device());
    if (!mended) field.fill(1);  // filled_at_host
    sum(field);
}

/// The host changes little through a pointer, where nobody finds that. The mended program is for where somebody does.
void untracked_writes() {
    unified_buffer<float> field({4 * count});
    float* const pointer = field.host();
    for (int step = 0; step < steps; ++step) {
        pointer[step] = static_cast<float>(step + 1);
        field.read(device()).release();  // untracked_writes
    }
}

/// What the program is to send again and again lies in pageable memory.
void pageable() {
    const unibuf::space card("cuda:0");
    unified_buffer<float> field({4 * count}, {.device = card, .pinned = mended});
    for (int step = 0; step < steps; ++step) {
        set(field, static_cast<float>(step));
        field.read(card).release();  // pageable
    }
}

/// A process that is forked off has the fault.
void forked() {
    unified_buffer<float> before({count});
    sum(before);
    const pid_t child = ::fork();
    if (child == 0) {
        round_trip();
        ::_exit(0);
    }
    ::waitpid(child, nullptr, 0);
}

/// The program writes a trace of its own, and ends it before it has the fault.
void own_trace() {
    const std::string file = "/tmp/unibuf_own_" + std::to_string(::getpid()) + ".trace";
    unibuf::write_trace(file);
    unified_buffer<float> before({count});
    sum(before);
    unibuf::stop_trace();
    std::remove(file.c_str());
    round_trip();
}

}  // namespace

int main(int argc, char** argv) {
    const std::map<std::string_view, std::function<void()>> all{{"round_trip", round_trip},
                                                                {"overwritten_fetch", overwritten_fetch},
                                                                {"unread_copy", unread_copy},
                                                                {"ping_pong", ping_pong},
                                                                {"whole_for_part", whole_for_part},
                                                                {"many_small", many_small},
                                                                {"churn", churn},
                                                                {"lost", lost},
                                                                {"thrash", thrash},
                                                                {"long_lease", long_lease},
                                                                {"mark_without_write", mark_without_write},
                                                                {"all_marked", all_marked},
                                                                {"filled_at_host", filled_at_host},
                                                                {"pageable", pageable},
                                                                {"untracked_writes", untracked_writes},
                                                                {"forked", forked},
                                                                {"own_trace", own_trace}};
    const auto found = all.find(argc > 1 ? argv[1] : "");
    if (found == all.end()) {
        std::fputs("faults NAME [mended]\n", stderr);
        return 2;
    }
    mended = argc > 2;
    found->second();
}
