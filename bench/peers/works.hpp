// peers/works.hpp: the works that unibuf and its peers are timed at, in turns and in one process, and the rows of
// figures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace peers {

// All arrays are of 32-bit elements. The large one is a square of 64 MiB; kernels touch one element of each page.
using element = std::uint32_t;
inline constexpr std::size_t side = 4096;
inline constexpr std::size_t large = side * side;
inline constexpr std::size_t middle = (1U << 20U) / sizeof(element);
inline constexpr std::size_t small = 4096 / sizeof(element);
inline constexpr std::size_t page = 4096 / sizeof(element);

// What is changed, and what is read.
inline constexpr std::size_t changed_row = 1234;
inline constexpr std::size_t changed_column = 2 * page;
inline constexpr std::size_t changed = changed_row * side + changed_column;

// How often what is short is done in one run; and how many small buffers there are.
inline constexpr std::size_t accesses = 1000;
inline constexpr std::size_t temporaries = 100;
inline constexpr std::size_t small_buffers = 10'000;

/// How somebody does a work. Without `run` it cannot, and `note` says why.
struct way {
    std::function<void()> run;                                                // timed; ends when the work is done
    std::function<std::uint64_t()> result = [] { return std::uint64_t{0}; };  // of the last run: the same for everybody
    std::function<void()> prepare = [] {};                                    // before each run, not timed
    std::string note = {};
    std::size_t times = 1;  // that a run does the work
};

inline way missing(std::string why) { return {.run = {}, .note = std::move(why)}; }

/// unibuf, or a peer: each function makes what a work needs.
class contender {
public:
    contender() = default;
    virtual ~contender() = default;
    contender(const contender&) = delete;
    contender& operator=(const contender&) = delete;

    virtual way read_at_host() = 0;              // what is current there
    virtual way read_at_device() = 0;            // what is current there; no kernel
    virtual way construct() = 0;                 // and destroy, without an access
    virtual way change_named() = 0;              // one element at the host, and the program says which; then the device
    virtual way change_unnamed() = 0;            // one element at the host; then the device
    virtual way rewrite(std::size_t count) = 0;  // all elements at the host; then the device
    virtual way row() = 0;                       // at the host, of a square that the device has written
    virtual way column() = 0;
    virtual way temporary() = 0;   // made, written and read at the device, dropped, over and over
    virtual way many_small() = 0;  // each written at the host, then used at the device

    // Around its turns, not timed: threads of its own must not disturb the other.
    virtual void enter() {}
    virtual void leave() {}
};

/// A peer, its name, and what makes unibuf's contender at the same device, with a placement: "mirrored" or "default".
struct match {
    std::string peer;
    contender* by_peer;
    std::function<std::unique_ptr<contender>(const std::string& placement)> by_unibuf;
};

/// Runs all works of a match, and writes the rows to the file that the command line names. Throws std::runtime_error
/// where two results differ.
void play(const match& of, int argc, char** argv);

/// Calls `run`, and returns the program's exit status. An exception is an error message.
int guarded(const std::function<void()>& run);

}  // namespace peers
