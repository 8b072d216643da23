// tests/contract/contract.hpp: the suite that every backend passes, and the functions that its tests share.
//
// A backend's own test file has one line, UNIBUF_CONTRACT(opencl, "opencl:0"), or names the parts that concern it where
// it shares no memory with the host. A space that is not there is skipped, with its reason.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/spaces.hpp"
#include "support/bytes.hpp"
#include "support/pages_for_reading.hpp"
#include "support/printing.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/error.hpp"
#include "unibuf/space.hpp"

namespace unibuf::contract {

using test::bytes;
using test::noise;
using test::same;

/// A queue of the program's own. What is on it waits until it is opened, or goes.
class held_queue {
public:
    virtual ~held_queue() = default;
    virtual queue name() const = 0;

    /// Makes all bytes `value`, in the place of a kernel.
    virtual void set(const native_memory& to, std::byte value) = 0;
    virtual void open() = 0;

    /// Returns false where the driver stops the host until all that was queued before is done.
    virtual bool lets_the_host_go_on() const { return true; }
};

/// A space to test, found when its tests begin: finding it may throw why it is not there.
struct subject {
    std::string name;
    std::function<space()> find;
    std::function<std::unique_ptr<held_queue>(space)> hold_queue = {};

    friend void PrintTo(const subject& of, std::ostream* out) { *out << of.name; }
};

/// Returns "opencl_0" for "opencl:0".
std::string name_of_subject(const ::testing::TestParamInfo<subject>& of);

/// Returns `count` bytes of `pattern`, again and again.
bytes repeated(std::span<const std::byte> pattern, std::size_t count);

/// Returns the code of the error that `call` throws, and puts its text into `message`; fails the test where it throws
/// none.
error_code code_of(const std::function<void()>& call, std::string* message = nullptr);

/// Finds the space, or skips the test.
class on_a_space : public ::testing::TestWithParam<subject> {
protected:
    void SetUp() override;

    space where_;
};

/// Tests what is below the buffer: a device and its memory.
class backend_contract : public on_a_space {
protected:
    backends::device& device() const { return backends::device_of(where_); }
    const backends::traits& about() const { return device().about(); }

    std::unique_ptr<backends::memory> allocate(std::size_t count) const { return device().allocate({.bytes = count}); }
};

/// Tests memory that host and device share.
class sharing_contract : public backend_contract {
protected:
    void SetUp() override;
};

/// Tests the buffer, on the host and a space, which is a device.
class buffer_contract : public on_a_space {};

/// Tests a buffer over memory for reading: all that only reads goes on, and what would write is refused.
class constant_contract : public on_a_space {
protected:
    void TearDown() override;

    void expect_unchanged();
    buffer& over(memory_hint hint = memory_hint::none);

    test::pages_for_reading pages_;
    std::optional<buffer> b_;
};

/// Tests threads that do anything at once, on the host and a space.
class threads_contract : public on_a_space {};

/// Tests what the host writes through pointers.
class host_write_contract : public on_a_space {};

/// Tests a space whose memory is short. Skips where no copy has memory of its own.
class eviction_contract : public on_a_space {
protected:
    void SetUp() override;
    void TearDown() override { limit_memory(where_, no_memory_limit); }

    buffer mirrored() const;

    /// Limits the memory to that of so many buffers, beside what others hold there.
    void make_room_for(std::size_t buffers) const { limit_memory(where_, limit_of(buffers)); }
    std::uint64_t limit_of(std::size_t buffers) const;

    bool has_copy(const buffer& of) const;

    /// Makes content that only the device has.
    void device_fills(buffer& to, std::byte value) const;

    /// Returns what the device has, by making it the newest.
    bytes device_reads(buffer& from) const;

private:
    std::uint64_t held_before_ = 0;
};

/// Tests a space whose memory is short, and where work is queued.
class queued_eviction_contract : public eviction_contract {};

/// Tests queued work of a buffer, where a pointer to the host's copy is out.
class queued_work_contract : public on_a_space {};

// Both wait until they are done.
void put(backends::memory& to, std::size_t offset, std::span<const std::byte> content);
bytes get(backends::memory& from, std::size_t offset, std::size_t count);

}  // namespace unibuf::contract

#define UNIBUF_CONTRACT_PART(suite, api, space_name, find)                                               \
    namespace unibuf::contract {                                                                         \
    INSTANTIATE_TEST_SUITE_P(api, suite, ::testing::Values(subject{space_name, find}), name_of_subject); \
    }                                                                                                    \
    static_assert(true)

#define UNIBUF_BACKEND_CONTRACT(api, space_name) \
    UNIBUF_CONTRACT_PART(backend_contract, api, space_name, [] { return unibuf::space(space_name); })
#define UNIBUF_BUFFER_CONTRACT(api, space_name)                                                           \
    UNIBUF_CONTRACT_PART(buffer_contract, api, space_name, [] { return unibuf::space(space_name); });     \
    UNIBUF_CONTRACT_PART(constant_contract, api, space_name, [] { return unibuf::space(space_name); });   \
    UNIBUF_CONTRACT_PART(threads_contract, api, space_name, [] { return unibuf::space(space_name); });    \
    UNIBUF_CONTRACT_PART(host_write_contract, api, space_name, [] { return unibuf::space(space_name); }); \
    UNIBUF_CONTRACT_PART(eviction_contract, api, space_name, [] { return unibuf::space(space_name); })

#define UNIBUF_CONTRACT_OF(api, space_name, find)                     \
    UNIBUF_CONTRACT_PART(backend_contract, api, space_name, find);    \
    UNIBUF_CONTRACT_PART(sharing_contract, api, space_name, find);    \
    UNIBUF_CONTRACT_PART(buffer_contract, api, space_name, find);     \
    UNIBUF_CONTRACT_PART(constant_contract, api, space_name, find);   \
    UNIBUF_CONTRACT_PART(threads_contract, api, space_name, find);    \
    UNIBUF_CONTRACT_PART(host_write_contract, api, space_name, find); \
    UNIBUF_CONTRACT_PART(eviction_contract, api, space_name, find)
#define UNIBUF_CONTRACT(api, space_name) UNIBUF_CONTRACT_OF(api, space_name, [] { return unibuf::space(space_name); })

/// Adds the suites for a space where the program has queues of its own: hold_queue(space) makes a held_queue.
#define UNIBUF_QUEUED_CONTRACT(api, space_name, find, hold_queue)                                                     \
    namespace unibuf::contract {                                                                                      \
    INSTANTIATE_TEST_SUITE_P(api, queued_eviction_contract, ::testing::Values(subject{space_name, find, hold_queue}), \
                             name_of_subject);                                                                        \
    INSTANTIATE_TEST_SUITE_P(api, queued_work_contract, ::testing::Values(subject{space_name, find, hold_queue}),     \
                             name_of_subject);                                                                        \
    }                                                                                                                 \
    static_assert(true)
