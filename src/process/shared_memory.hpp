// process/shared_memory.hpp: memory that processes of one machine share, and the name by which one gives it to others.
//
// It lies in a memfd, which the last process that has it takes along: nobody has to clean up after a crash. Linux only.
//
// The other processes are not trusted. What they say of the memory is checked and copied once, by attach(); only the
// two words that have to be shared are read later, and every value of them is possible. The content is theirs to write.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace unibuf::process {

class shared_memory {
public:
    /// Makes `bytes` that are zero, in memory with room for `room`. `description` is told to whoever attaches, and has
    /// at most `most_described` bytes. Throws error(out_of_memory), error(unsupported).
    static std::shared_ptr<shared_memory> create(std::size_t bytes, std::size_t room, std::string_view description);

    /// Maps the memory that `name` stands for. Throws error(invalid_argument) for a name that is none or no longer
    /// good, and for memory that is not as create() makes it.
    static std::shared_ptr<shared_memory> attach(std::string_view name);

    ~shared_memory();
    shared_memory(const shared_memory&) = delete;
    shared_memory& operator=(const shared_memory&) = delete;

    /// Returns the name for attach() in any process of the same user; it is good as long as this object lives.
    std::string name() const;

    /// Returns a text that is the same for all that have this memory, and meanwhile for no other memory.
    std::string identity() const;

    const std::string& description() const noexcept { return description_; }
    std::span<std::byte> bytes() const noexcept;

    // Processes write these two words while others read them.
    std::atomic<std::uint64_t>& newest_at() const noexcept;
    std::atomic<std::uint64_t>& attached() const noexcept;

    static constexpr std::size_t most_described = 4000;

private:
    struct header;

    shared_memory(int file, std::size_t mapped);

    int file_;
    std::size_t mapped_;
    header* head_ = nullptr;
    std::size_t bytes_ = 0;
    std::string description_;
};

}  // namespace unibuf::process
