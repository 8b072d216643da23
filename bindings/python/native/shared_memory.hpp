// shared_memory.hpp: the host's copy of a buffer, in memory that processes of one machine share.
//
// It lies in a memfd, which the last process that has it takes along: nobody has to clean up after a crash. A name is
// good as long as the process that gave it has the memory. Linux only.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace unibuf::python {

class shared_memory {
public:
    /// Zeros, and what attach() has to know of them. Throws unibuf::error.
    static std::shared_ptr<shared_memory> create(std::size_t bytes, std::string_view description);

    /// Throws error(invalid_argument) for a name that is none, or no longer good.
    static std::shared_ptr<shared_memory> attach(const std::string& name);

    ~shared_memory();
    shared_memory(const shared_memory&) = delete;
    shared_memory& operator=(const shared_memory&) = delete;

    std::string name() const;

    /// What this process has it by in its registry, so that there is one buffer of it.
    std::string registered_name() const;

    std::string description() const;
    std::span<std::byte> bytes() const noexcept;

    /// Another process has it too from now on.
    void count_attached() noexcept;

    /// Whether other processes have, or had, this memory too: they may write it at any time.
    bool has_others() const noexcept;

    // Of the one process that may hold newer content than this memory, on a device of its own.

    /// Whether that is another one.
    bool is_newer_elsewhere() const noexcept;

    /// Whether it is this one.
    bool is_newest_here() const noexcept;

    /// Throws where it is another: error(access_conflict), or error(transfer_failed) where that process has ended.
    void check_not_newer_elsewhere() const;

    /// Makes this process that one. Throws as check_not_newer_elsewhere does.
    void claim();

    /// The memory holds what is newest, as far as this process knows.
    void settle() noexcept;

    /// The same, whoever held newer content: it is given up.
    void settle_for_all() noexcept;

private:
    struct header;

    shared_memory(int file, std::size_t bytes);
    [[noreturn]] void refuse(std::uint64_t holder) const;

    int file_;
    std::size_t mapped_;
    header* head_;
};

}  // namespace unibuf::python
