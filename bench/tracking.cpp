// bench/tracking.cpp: the cost of finding writes through pointers of host(), and what it saves.
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compared.hpp"
#include "default_device.hpp"
#include "heap.hpp"
#include "race.hpp"

namespace bench::tracking_bench {
namespace {

using unibuf::write_tracking;

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr std::size_t page = 4096;
constexpr std::size_t large = 256 * mib;

void increase(std::byte& of) { of = static_cast<std::byte>(std::to_integer<unsigned>(of) + 1U); }

/// A buffer with a mirrored copy at the default device, which is the same as the host's.
class mirrored {
public:
    explicit mirrored(std::size_t bytes, write_tracking tracking = write_tracking::automatic)
        : buffer(bytes, {.hint = unibuf::memory_hint::gpu_preferred, .tracking = tracking}) {
        std::memset(buffer.write(unibuf::host).data(), 1, bytes);
        move();
    }

    void move() { benchmark::DoNotOptimize(buffer.device().handle); }

    unibuf::buffer buffer;
};

/// A mirrored buffer with a pointer that has been out for some rounds.
class written_through : public mirrored {
public:
    explicit written_through(std::size_t bytes, write_tracking tracking = write_tracking::automatic)
        : mirrored(bytes, tracking), pointer(buffer.host()) {
        for (int i = 0; i < 3; ++i) {
            increase(pointer[bytes / 2]);
            move();
        }
    }

    std::byte* pointer;
};

bench::body whole_transfer(mirrored& of) {
    return bench::repeat([&of] { of.buffer.mark_host_dirty(); }, [&of] { of.move(); });
}

/// Measures one element against the whole buffer.
bench::figures one_element() {
    written_through buffer(large);
    mirrored whole(large);
    return bench::in_ns(bench::race(bench::repeat([&buffer] {
                                        increase(buffer.pointer[large / 2]);
                                        buffer.move();
                                    }),
                                    whole_transfer(whole)));
}

/// Measures against a program that says which page it wrote.
bench::figures one_element_told() {
    written_through buffer(large);
    mirrored told(large);
    constexpr std::size_t at = large / 2 / page * page;
    return bench::in_ns(bench::race(bench::repeat([&buffer] {
                                        increase(buffer.pointer[large / 2]);
                                        buffer.move();
                                    }),
                                    bench::repeat([&told] {
                                        told.buffer.mark_host_dirty(at, page);
                                        told.move();
                                    })));
}

/// Takes as many rounds as a part is believed in, and the one in which it is tried again: see src/tracking/policy.hpp.
bench::figures full_rewrite(std::size_t bytes) {
    constexpr int rounds = 256;
    written_through tracked(bytes);
    written_through untracked(bytes, write_tracking::off);
    const auto rewrite = [bytes](written_through& of) {
        std::memset(of.pointer, 1, bytes);
        of.move();
    };
    const auto by_tracking = [&] { rewrite(tracked); };
    const auto by_none = [&] { rewrite(untracked); };
    bench::in_turns(2 * rounds, by_tracking, by_none);  // then the part is believed in for as long as ever
    return bench::in_ns(bench::in_turns((bytes < mib ? 16 : 2) * rounds, by_tracking, by_none));
}

/// Writes one byte in each of 1 % of the pages.
class scattered {
public:
    explicit scattered(std::size_t bytes) : pages_(bytes / page) {
        for (std::size_t i = 0; i < pages_.size(); ++i) pages_[i] = i * page;
    }

    void write(std::byte* to) {
        for (std::size_t i = 0; i < pages_.size() / 100; ++i) {
            std::swap(pages_[i], pages_[i + random_() % (pages_.size() - i)]);
            increase(to[pages_[i]]);
        }
    }

    /// Copies the pages that were written last.
    void copy(std::byte* to, const std::byte* from) const {
        for (std::size_t i = 0; i < pages_.size() / 100; ++i) std::memcpy(to + pages_[i], from + pages_[i], page);
    }

private:
    std::vector<std::size_t> pages_;
    std::minstd_rand random_{1};
};

/// Measures the access alone, against a program that knows the pages and copies them; random_stores_and_access has the
/// stores too.
bench::figures random_access() {
    written_through buffer(large);
    scattered stores(large);
    const std::unique_ptr<std::byte[]> from(new std::byte[large]());
    const std::unique_ptr<std::byte[]> to(new std::byte[large]());
    scattered known(large);
    return bench::in_ns(
        bench::race(bench::repeat([&] { stores.write(buffer.pointer); }, [&] { buffer.move(); }),
                    bench::repeat([&] { known.write(from.get()); }, [&] { known.copy(to.get(), from.get()); })));
}

bench::figures random_stores_and_access() {
    written_through buffer(large);
    mirrored whole(large);
    scattered stores(large);
    return bench::in_ns(bench::race(bench::repeat([&] {
                                        stores.write(buffer.pointer);
                                        buffer.move();
                                    }),
                                    whole_transfer(whole)));
}

bench::figures random_bytes() {
    constexpr int rounds = 20;
    written_through buffer(large);
    scattered stores(large);
    const std::uint64_t before = buffer.buffer.statistics().bytes_moved();
    for (int i = 0; i < rounds; ++i) {
        stores.write(buffer.pointer);
        buffer.move();
    }
    const std::uint64_t moved = buffer.buffer.statistics().bytes_moved() - before;
    return {static_cast<double>(moved) / rounds, static_cast<double>(large)};
}

bench::figures per_mib(bench::figures found, std::size_t bytes) {
    const double count = static_cast<double>(bytes) / mib;
    return {found.measured / count, found.limit / count};
}

/// Measures against the transfer that nobody needs.
bench::figures clean_held(std::size_t bytes, bool in_small_pages) {
    written_through buffer(bytes);
    mirrored whole(bytes);
    if (in_small_pages) {  // a huge page is split where it is written
        for (std::size_t i = 0; i < bytes; i += page) increase(buffer.pointer[i]);
        buffer.move();
    }
    return per_mib(bench::in_ns(bench::race(bench::repeat([&buffer] { buffer.move(); }), whole_transfer(whole))),
                   bytes);
}

/// Measures against a load of a pointer.
bench::figures clean_released(bool view) {
    mirrored buffer(large);
    if (view) {
        auto held = buffer.buffer.host_view();
        increase(held[large / 2]);
    } else {
        increase(buffer.buffer.host()[large / 2]);
        buffer.buffer.release_host();
    }
    buffer.move();
    static std::byte content{};
    std::byte* volatile pointer = &content;
    return bench::in_ns(bench::race(bench::repeat([&buffer] { buffer.move(); }), bench::repeat([&pointer] {
                                        std::byte* const loaded = pointer;
                                        benchmark::DoNotOptimize(loaded);
                                    })));
}

/// Measures the most that a buffer has on the heap between two rounds, against a bit for each page.
bench::figures bookkeeping(const std::function<void(std::byte*)>& write) {
    const bench::default_device debug("debug:0");
    mirrored(large).move();  // what is set up once in a process is not counted as a buffer's
    const std::ptrdiff_t before = bench::heap_bytes();
    written_through buffer(large);
    std::ptrdiff_t most = 0;
    for (int i = 0; i < 20; ++i) {
        write(buffer.pointer);
        buffer.move();
        most = std::max(most, bench::heap_bytes() - before);
    }
    constexpr std::size_t bits = large / page / 8;
    return {static_cast<double>(most), static_cast<double>(bits)};
}

std::vector<bench::situation> at_each_device(const std::string& what, const std::function<bench::figures()>& measure) {
    std::vector<bench::situation> cases;
    for (const char* const name : {"debug:0", "opencl:0"}) {
        cases.push_back({what + " at " + name, [name, measure] {
                             const bench::default_device there(name);
                             return measure();
                         }});
    }
    return cases;
}

std::vector<bench::situation> joined(std::vector<bench::situation> some, const std::vector<bench::situation>& more) {
    some.insert(some.end(), more.begin(), more.end());
    return some;
}

const bench::declared element({.name = "tracking.one_element",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(0.01),
                               .cases = at_each_device("one of 256 MiB", one_element)});

const bench::declared element_told({.name = "tracking.one_element.told",
                                    .unit = "ns",
                                    .goal = bench::ratio_at_most(3),
                                    .cases = {{"one of 256 MiB at opencl:0", [] {
                                                   const bench::default_device there("opencl:0");
                                                   return one_element_told();
                                               }}}});

const bench::declared rewrite({.name = "tracking.full_rewrite",
                               .unit = "ns",
                               .goal = bench::ratio_at_most(1.15),
                               .cases = joined(at_each_device("64 KiB", [] { return full_rewrite(mib / 16); }),
                                               joined(at_each_device("4 MiB", [] { return full_rewrite(4 * mib); }),
                                                      at_each_device("16 MiB",
                                                                     [] { return full_rewrite(16 * mib); })))});

const bench::declared random_1pct({.name = "tracking.random_1pct",
                                   .unit = "ns",
                                   .goal = bench::ratio_at_most(3),
                                   .cases = at_each_device("the access", random_access)});

const bench::declared random_1pct_stores({.name = "tracking.random_1pct.stores",
                                          .unit = "ns",
                                          .goal = bench::ratio_at_most(0.2),
                                          .cases = at_each_device("stores and access", random_stores_and_access)});

// No transfer is made longer to spare another one, where a transfer costs nothing to begin.
const bench::declared random_1pct_bytes({.name = "tracking.random_1pct.bytes",
                                         .unit = "bytes",
                                         .goal = bench::ratio_at_most(0.011),
                                         .cases = {{"moved to debug:0", [] {
                                                        const bench::default_device debug("debug:0");
                                                        return random_bytes();
                                                    }}}});

/// What moves at accesses elsewhere of memory of the program's own that nobody touches, and that begins within a page.
bench::figures bytes_of_untouched() {
    constexpr std::size_t rounds = 4;
    std::vector<std::byte> memory(large);
    const std::span part = std::span(memory).subspan(100);
    unibuf::buffer over = unibuf::buffer::over(part, nullptr, {.hint = unibuf::memory_hint::gpu_preferred});
    over.read("debug:0").release();
    const std::uint64_t before = over.statistics().bytes_moved();
    for (std::size_t i = 0; i != rounds; ++i) over.read("debug:0").release();
    return {static_cast<double>(over.statistics().bytes_moved() - before), static_cast<double>(rounds * part.size())};
}

/// Measures memory of the program's own that begins and ends within pages against such as has whole pages: all is said
/// to be written, and moves.
bench::figures edges(std::size_t bytes) {
    std::vector<std::byte> memory(bytes + 2 * page);
    const std::size_t first = page - reinterpret_cast<std::uintptr_t>(memory.data()) % page;
    const auto made = [&](std::size_t begin) {
        unibuf::buffer over = unibuf::buffer::over(std::span(memory).subspan(begin, bytes), nullptr,
                                                   {.hint = unibuf::memory_hint::gpu_preferred});
        over.host();
        return over;
    };
    const auto use = [](unibuf::buffer& of) {
        of.mark_host_dirty();
        benchmark::DoNotOptimize(of.device().handle);
    };
    unibuf::buffer within = made(first + 1);
    std::vector<std::byte> others = std::exchange(memory, std::vector<std::byte>(bytes + 2 * page));
    unibuf::buffer whole = made(page - reinterpret_cast<std::uintptr_t>(memory.data()) % page);
    return bench::in_ns(bench::in_typical_turns(51 * 4, [&] { use(within); }, [&] { use(whole); }));
}

const bench::declared compared_edges(
    {.name = "compared.edges",
     .unit = "ns",
     .goal = bench::ratio_at_most(1.15),
     .cases = joined(at_each_device("1 MiB at an odd address", [] { return edges(mib); }),
                     at_each_device("64 MiB at an odd address", [] { return edges(64 * mib); }))});

const bench::declared compared({.name = "tracking.compared",
                                .unit = "ns",
                                .goal = bench::ratio_at_most(0.7),
                                .cases = {{"a page of 64 MiB, to opencl:0",
                                           [] { return bench::one_page_compared("opencl:0", 64 * mib); }}}});

const bench::declared compared_in_vain({.name = "tracking.compared.rewritten",
                                        .unit = "ns",
                                        .goal = bench::ratio_at_most(1.1),
                                        .cases = {{"all of 16 MiB, to opencl:0",
                                                   [] { return bench::all_compared("opencl:0", 16 * mib); }}}});

const bench::declared over_untouched({.name = "over.untouched",
                                      .unit = "bytes",
                                      .goal = bench::at_most(1),
                                      .cases = {{"256 MiB, to debug:0", bytes_of_untouched}}});

const bench::declared held({.name = "tracking.clean_held",
                            .unit = "ns/MiB",
                            .goal = bench::ratio_at_most(0.05),
                            .cases = joined(at_each_device("256 MiB", [] { return clean_held(large, false); }),
                                            at_each_device("256 MiB in small pages",
                                                           [] { return clean_held(large, true); }))});

const bench::declared released({.name = "tracking.clean_released",
                                .unit = "ns",
                                .goal = bench::at_most(2),
                                .cases = joined(at_each_device("after a view", [] { return clean_released(true); }),
                                                at_each_device("after release_host",
                                                               [] { return clean_released(false); }))});

const bench::declared bytes(
    {.name = "tracking.bytes",
     .unit = "bytes",
     .goal = bench::at_most(32768),
     .cases = {{"one page", [] { return bookkeeping([](std::byte* to) { increase(to[large / 2]); }); }},
               {"1 % at random",
                [] {
                    scattered stores(large);
                    return bookkeeping([&stores](std::byte* to) { stores.write(to); });
                }},
               {"all", [] { return bookkeeping([](std::byte* to) { std::memset(to, 2, large); }); }}}});

}  // namespace
}  // namespace bench::tracking_bench
