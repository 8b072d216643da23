// suite/program.hpp: a program of the suite, whose host part is there in several versions, with the same kernels.
#pragma once

#include <unibuf/opencl.hpp>
#include <unibuf/options.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device.hpp"
#include "ledger.hpp"

namespace suite {

/// How large the problems are: for a test, or for a second or so of work.
enum class scale { small, full };

/// Each version runs the whole program once: from the program's own memory, where its input lies, until its result lies
/// in the program's own memory.
class program {
public:
    virtual ~program() = default;
    program(const program&) = delete;
    program& operator=(const program&) = delete;

    /// Moves what the published program moves, and when.
    virtual void published() = 0;

    /// Brings all that a kernel touches before it starts, and all that it has written back after it.
    virtual void copy_all() = 0;

    /// Moves by hand as little as an expert would.
    virtual void expert() = 0;

    /// Leaves it to unibuf. `options` are those of each buffer.
    virtual void by_unibuf(const unibuf::buffer_options& options) = 0;

    /// Tells what either side touches, in the order of the last run.
    virtual void touches(ledger& told) const = 0;

    /// Returns the result of the last run, and forgets it.
    virtual std::vector<std::byte> take_result() = 0;

    /// Returns how many bytes the versions by hand have moved so far.
    std::uint64_t moved_by_hand() const noexcept { return queue_.moved(); }

protected:
    program(unibuf::space where, const char* source);

    unibuf::space where() const noexcept { return where_; }
    const cl::Context& context() const noexcept { return context_; }
    counting_queue& queue() noexcept { return queue_; }
    cl::Kernel kernel(const char* name) const { return {built_, name}; }

    /// Returns the bytes of a result, and overwrites it.
    template <class T>
    static std::vector<std::byte> taken(std::vector<T>& result) {
        const auto bytes = std::as_writable_bytes(std::span(result));
        std::vector<std::byte> copy(bytes.begin(), bytes.end());
        std::ranges::fill(bytes, std::byte{0xDB});
        return copy;
    }

private:
    unibuf::space where_;
    cl::Context context_;
    counting_queue queue_;
    cl::Program built_;
};

/// A program that the suite has.
struct entry {
    std::string name;
    std::string origin;   // the suite that published it
    std::string problem;  // what it computes, with its sizes
    std::function<std::unique_ptr<program>(unibuf::space where, scale size)> make;
};

/// Returns all programs, in the order of their names.
const std::vector<entry>& programs();

/// Adds a program to them, when its file's static objects are made.
struct registered {
    explicit registered(entry of);
};

template <class Program>
std::unique_ptr<program> made(unibuf::space where, scale size) {
    return std::make_unique<Program>(where, size);
}

}  // namespace suite
