// bench/compared.cpp: contents that are compared by digest, where nobody finds what the program writes.
#include "compared.hpp"

#include <sys/mman.h>
#include <unibuf/unibuf.hpp>

#include <cstring>
#include <new>
#include <span>

#include "default_device.hpp"
#include "race.hpp"

namespace bench {
namespace {

using unibuf::write_tracking;

/// Memory that a forked child would have, too.
class common_memory {
public:
    explicit common_memory(std::size_t bytes)
        : bytes_(bytes), begin_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
        if (begin_ == MAP_FAILED) throw std::bad_alloc();
        std::memset(begin_, 1, bytes);
    }
    ~common_memory() { ::munmap(begin_, bytes_); }
    common_memory(const common_memory&) = delete;
    common_memory& operator=(const common_memory&) = delete;

    std::span<std::byte> span() const noexcept { return {static_cast<std::byte*>(begin_), bytes_}; }

private:
    std::size_t bytes_;
    void* begin_;
};

struct mirrored {
    mirrored(std::size_t bytes, write_tracking tracking)
        : memory(bytes),
          buffer(unibuf::buffer::over(memory.span(), nullptr,
                                      {.hint = unibuf::memory_hint::gpu_preferred, .tracking = tracking})),
          pointer(buffer.host()) {}

    void move() { benchmark::DoNotOptimize(buffer.device().handle); }

    common_memory memory;
    unibuf::buffer buffer;
    std::byte* pointer;
};

}  // namespace

figures one_page_compared(const char* device, std::size_t bytes) {
    constexpr std::size_t page = 4096;
    const default_device there(device);
    mirrored compared(bytes, write_tracking::automatic);
    mirrored sent(bytes, write_tracking::off);
    int round = 0;
    const auto change_and_move = [&](mirrored& of) {
        std::memset(of.pointer + bytes / 2 / page * page, ++round & 255, page);
        of.move();
    };
    for (int i = 0; i < 4; ++i) change_and_move(compared);  // then it is known what costs less
    return in_ns(race(repeat([&] { change_and_move(compared); }), repeat([&] { change_and_move(sent); })));
}

/// Takes as many rounds as a section is believed to be rewritten, and the two in which it is tried again.
figures all_compared(const char* device, std::size_t bytes) {
    constexpr int rounds = 2 * 256;
    const default_device there(device);
    mirrored compared(bytes, write_tracking::automatic);
    mirrored sent(bytes, write_tracking::off);
    int round = 0;
    // Both are written before either is timed, so that neither finds more of it in the cache.
    const auto prepare = [&] {
        ++round;
        for (const mirrored* each : {&compared, &sent}) std::memset(each->pointer, round & 255, bytes);
    };
    const auto by_digest = [&] { compared.move(); };
    const auto all = [&] { sent.move(); };
    in_turns(rounds, by_digest, all, prepare);
    return in_ns(in_turns(rounds, by_digest, all, prepare));
}

}  // namespace bench
