// pool/memory_pool.cpp: pools as the program has them: buffers that are used again.
#include "unibuf/memory_pool.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "pool/pool_state.hpp"
#include "unibuf/detail/sizes.hpp"
#include "verbs/leases.hpp"

namespace unibuf {

memory_pool::memory_pool() : state_(std::make_shared<detail::pool_state>()) {}
memory_pool::~memory_pool() = default;

buffer memory_pool::acquire(std::size_t bytes, const buffer_options& options) {
    detail::core* const found = state_->acquire(bytes, options);
    state_->begin_use(*found, bytes);
    return {found, 0, bytes};
}

void memory_pool::release(buffer&& of) {
    if (of.gate_ == &detail::no_buffer) {
        throw error(error_code::invalid_argument, "a buffer was to be released twice, or was moved from");
    }
    auto& core = static_cast<detail::core&>(*of.gate_);
    if (of.rectangle_ || of.begin_ != 0 || of.bytes_ != core.bytes) {
        throw error(error_code::invalid_argument,
                    fmt::format("{}: a view of {} bytes was to be released: release the buffer itself", core.name(),
                                of.bytes_));
    }
    state_->release(core);
    of.gate_ = &detail::no_buffer;
    of.bytes_ = 0;
}

void memory_pool::reserve(std::size_t count, std::size_t bytes, space where, const buffer_options& options) {
    std::vector<buffer> made;
    const auto all = detail::product(count, std::max(bytes, sizeof(detail::core)));
    if (!all || *all > detail::most_bytes) {
        throw error(error_code::out_of_memory,
                    fmt::format("{} buffers of {} bytes were to be reserved: no memory has so many", count, bytes));
    }
    made.reserve(count);
    // Where memory is short, no copy may go for another one: all are held until the last is there.
    {
        std::vector<byte_lease> at_host;
        at_host.reserve(count);
        while (made.size() < count) {
            made.push_back({state_->acquire(bytes, options), 0, bytes});  // in nobody's use
            at_host.push_back(detail::take_lease(detail::core_of(made.back().gate_), {.part = made.back().part(0, rest),
                                                                                      .where = host,
                                                                                      .what = access::write,
                                                                                      .verb = "to reserve",
                                                                                      .keeps_to_mode = false}));
        }
    }
    if (where != host) {
        std::vector<copy_view> at_device;
        at_device.reserve(count);
        for (buffer& each : made) {
            each.prefetch(where);
            at_device.push_back(each.hold_copy(where));
        }
    }
    for (buffer& each : made) release(std::move(each));
}

void memory_pool::trim(std::uint64_t bytes) { state_->trim(bytes); }
void memory_pool::limit(std::uint64_t bytes) { state_->limit(bytes); }
pool_statistics memory_pool::statistics() const { return state_->statistics(); }
void memory_pool::count_use() { state_->count_use(); }
pool_use memory_pool::use() const { return state_->use(); }

memory_pool& get_memory_pool() {
    static auto* const only = new memory_pool;  // buffers may be released when static objects go
    return *only;
}

}  // namespace unibuf
