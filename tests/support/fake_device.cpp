// support/fake_device.cpp
#include "support/fake_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "backends/pattern.hpp"
#include "backends/spaces.hpp"
#include "support/faults.hpp"
#include "unibuf/transfer_cost.hpp"

namespace unibuf::test {
namespace {

constexpr std::byte left_behind{0xC7};

std::string name_of(const fake_traits& does) {
    std::string result = does.asynchronous ? "fake-asynchronous" : "fake";
    if (does.aliases) result += "-aliasing";
    if (does.visible) result += "-visible";
    if (does.addressable) result += "-addressable";
    if (does.poisons) result += "-poisoning";
    if (does.borrows) result += "-borrowing";
    if (does.keeps_own) result += "-keeping-own";
    return result;
}

}  // namespace

fake_device::fake_device(const fake_traits& does) : does_(does) {
    about_.description = name_of(does);
    about_.own_memory = !does.aliases && !does.visible;
    about_.aliases_host = does.aliases;
    about_.host_visible = does.visible;
    about_.asynchronous = does.asynchronous;
    about_.poisons_stale = does.poisons;
}

fake_device& fake_device::get(const fake_traits& does, unsigned index) {
    static std::map<std::tuple<std::string, bool, unsigned>, fake_device*> made;
    fake_device*& found = made[{name_of(does), does.starts_zero, index}];
    if (!found) {
        auto device = std::make_unique<fake_device>(does);
        found = device.get();
        found->where_ = backends::add_space(name_of(does), std::move(device));
        set_transfer_cost(found->where_, {});  // no byte moves that does not have to
    }
    return *found;
}

void fake_device::check(std::string_view call) const {
    if (faults::all().strikes(call)) faults::all().fail();
}

std::unique_ptr<backends::memory> fake_device::allocate(const backends::allocation_request& what) {
    check("an allocation");
    return std::make_unique<fake_memory>(*this, what.bytes, std::span<std::byte>{}, false);
}

std::unique_ptr<backends::memory> fake_device::allocate_visible(const backends::allocation_request& what) {
    if (!does_.visible) return device::allocate_visible(what);
    check("an allocation of visible memory");
    return std::make_unique<fake_memory>(*this, what.bytes, std::span<std::byte>{}, true);
}

std::unique_ptr<backends::memory> fake_device::alias(std::span<std::byte> host,
                                                     const backends::allocation_request& what) {
    if (!does_.aliases) return device::alias(host, what);
    check("an alias of the host's memory");
    return std::make_unique<fake_memory>(*this, what.bytes, host, false);
}

std::unique_ptr<backends::memory> fake_device::borrow(backends::memory& of_another,
                                                      const backends::allocation_request& what) {
    auto* const lender = dynamic_cast<fake_memory*>(&of_another);
    if (!does_.borrows || !lender || lender->host_address()) return nullptr;
    check("a loan");
    auto made = std::make_unique<fake_memory>(*this, what.bytes, std::span<std::byte>{}, false);
    made->borrow_from(*lender);
    has_turn = false;
    return made;
}

fence fake_device::record(queue) {
    if (!does_.asynchronous) return {};
    check("a record of queued work");
    ++counts.records;
    return queue_.mark();
}

bool fake_device::order(const fence& before, queue) { return !before.native() || queue_.holds(before); }

fake_memory::fake_memory(fake_device& on, std::size_t bytes, std::span<std::byte> shared, bool owns_host_side)
    : on_(on), host_side_(shared), bytes_(bytes, on.does().starts_zero && shared.empty() ? std::byte{0} : left_behind) {
    if (owns_host_side) {
        own_host_side_ = bytes_;
        host_side_ = own_host_side_;
    }
    if (!host_side_.empty()) {
        dirty_.resize(bytes);
        if (owns_host_side) std::ranges::fill(bytes_, left_behind);
    }
    ++on_.counts.allocations;
    ++on_.counts.memories;
}

fake_memory::~fake_memory() {
    --on_.counts.memories;
    if (!on_.queued().uses(*this)) return;
    // Work that could not be recorded cannot be waited for: a driver that frees memory then waits by itself.
    on_.queued().run_all();
    if (faults::all().call() != "a record of queued work")
        on_.misuse.emplace_back("memory was freed under queued work");
}

std::byte* fake_memory::host_address() const noexcept {
    if (!host_side_.empty()) return host_side_.data();
    return on_.does().addressable ? const_cast<std::byte*>(bytes_.data()) : nullptr;
}

/// Calls `run` with the number of bytes to do: now, or when the fence is waited for.
template <class Run>
fence fake_memory::carry_out(const char* call, std::size_t offset, std::size_t bytes, bool may_be_half, Run run) {
    if (bytes == 0 || offset > bytes_.size() || bytes > bytes_.size() - offset) {
        on_.misuse.push_back(fmt::format("{} of [{}, {}) of {} bytes", call, offset, offset + bytes, bytes_.size()));
    }
    if (lent_) on_.misuse.push_back(fmt::format("{} out of turn", call));
    if (faults::all().strikes(call)) {
        if (may_be_half && faults::all().half()) {
            on_.queued().run_all();
            run(bytes / 2);
        }
        faults::all().fail();
    }
    if (!on_.does().asynchronous) {
        run(bytes);
        return {};
    }
    const auto failed = [this, offset, bytes, generation = on_.generation] {
        if (generation == on_.generation) on_.failures.push_back({offset, offset + bytes});
    };
    return on_.queued().add({.run = std::move(run), .bytes = bytes, .of = this, .failed = failed});
}

fence fake_memory::write(std::size_t offset, std::span<const std::byte> from, queue) {
    ++on_.counts.writes;
    on_.counts.bytes_moved += from.size();
    return carry_out("a write", offset, from.size(), true,
                     [this, offset, from](std::size_t bytes) { put(offset, from.first(bytes)); });
}

fence fake_memory::read(std::size_t offset, std::span<std::byte> to, queue) {
    ++on_.counts.reads;
    on_.counts.bytes_moved += to.size();
    return carry_out("a read", offset, to.size(), true,
                     [this, offset, to](std::size_t bytes) { std::copy_n(&bytes_[offset], bytes, to.data()); });
}

fence fake_memory::fill(std::size_t offset, std::size_t bytes, std::span<const std::byte> pattern, queue) {
    ++on_.counts.fills;
    if (pattern.empty() || bytes % pattern.size() != 0)
        on_.misuse.emplace_back("a fill with a pattern that does not fit");
    std::vector<std::byte> content(bytes);
    backends::repeat(pattern, content);
    return carry_out("a fill", offset, bytes, false,
                     [this, offset, content](std::size_t count) { put(offset, std::span(content).first(count)); });
}

/// Passes the content on from one memory to the other, after all work on `from`.
fence fake_memory::pass(const char* call, fake_memory& from, fake_memory& to) {
    if (faults::all().strikes(call)) faults::all().fail();
    from.on_.queued().run_all();
    to.bytes_ = std::exchange(from.bytes_, std::vector<std::byte>(from.bytes_.size(), left_behind));
    from.lent_ = true;
    to.lent_ = false;
    from.on_.has_turn = false;
    to.on_.has_turn = to.lender_ != nullptr;
    return to.on_.does().asynchronous ? to.on_.queued().mark() : fence();
}

fence fake_memory::publish_to_host(std::size_t offset, std::size_t bytes, access what, queue) {
    ++on_.counts.publications;
    if (lender_) return pass("a publication to the lender", *this, *lender_);
    if (publishes_content() && what == access::write) return {};
    return carry_out("a publication to the host", offset, bytes, true, [this, offset](std::size_t count) {
        for (std::size_t i = offset; i < offset + count && !host_side_.empty(); ++i) {
            if (dirty_[i] || publishes_content()) host_side_[i] = bytes_[i];
            dirty_[i] = false;
        }
    });
}

fence fake_memory::publish_to_device(std::size_t offset, std::size_t bytes, access what, queue) {
    ++on_.counts.publications;
    if (lender_) return pass("a publication to the borrower", *lender_, *this);
    if (publishes_content() && what == access::write) return {};
    return carry_out("a publication to the device", offset, bytes, true, [this, offset](std::size_t count) {
        for (std::size_t i = offset; i < offset + count && !host_side_.empty(); ++i) {
            bytes_[i] = host_side_[i];
            dirty_[i] = false;
        }
    });
}

void fake_memory::put(std::size_t offset, std::span<const std::byte> content) {
    std::ranges::copy(content, bytes_.begin() + static_cast<std::ptrdiff_t>(offset));
    for (std::size_t i = 0; i < content.size() && !dirty_.empty(); ++i) dirty_[offset + i] = true;
}

fake_memory& memory_of(const native_memory& at) { return *reinterpret_cast<fake_memory*>(at.handle); }

void kernel_write(const native_memory& at, std::size_t offset, std::span<const std::byte> content) {
    if (content.empty()) return;
    fake_memory& memory = memory_of(at);
    const std::size_t begin = at.offset + offset;
    if (!memory.device().does().asynchronous) return memory.put(begin, content);
    std::vector<std::byte> kept(content.begin(), content.end());
    memory.device().queued().add(
        {.run = [&memory, begin, kept](std::size_t) { memory.put(begin, kept); }, .of = &memory});
}

std::vector<std::byte> kernel_read(const native_memory& at) {
    if (at.bytes != 0) memory_of(at).device().queued().run_all();
    return seen_now(at);
}

std::vector<std::byte> seen_now(const native_memory& at) {
    if (at.bytes == 0) return {};
    const auto seen = memory_of(at).seen(at.offset, at.bytes);
    return {seen.begin(), seen.end()};
}

}  // namespace unibuf::test
