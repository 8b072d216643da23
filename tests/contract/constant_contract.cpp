// tests/contract/constant_contract.cpp: tests buffers over memory for reading, on the host and this space.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "coherence/byte_range.hpp"
#include "contract/contract.hpp"
#include "unibuf/batch.hpp"
#include "unibuf/lease_together.hpp"
#include "unibuf/memory_pool.hpp"

namespace unibuf::contract {
namespace {

constexpr std::size_t page_bytes = test::pages_for_reading::size;

bytes read_at(const buffer& from, space where) {
    from.read(where).release();
    bytes result(from.size_bytes());
    from.copy_to(result, where);
    return result;
}

}  // namespace

void constant_contract::TearDown() {
    if (!IsSkipped()) expect_unchanged();
}

void constant_contract::expect_unchanged() {
    if (!b_) return;
    const bytes content(pages_.all().begin(), pages_.all().end());
    EXPECT_TRUE(same(read_at(*b_, where_), content));
    EXPECT_TRUE(same(read_at(*b_, host), content));
    EXPECT_EQ(std::as_const(*b_).host(), pages_.all().data());
}

buffer& constant_contract::over(memory_hint hint) {
    b_.reset();
    b_.emplace(buffer::over(pages_.all(), nullptr, {.hint = hint, .device = where_}));
    return *b_;
}

namespace {

TEST_P(constant_contract, is_read_in_parts_and_whole) {
    for (const memory_hint hint : {memory_hint::none, memory_hint::cpu_preferred, memory_hint::gpu_preferred,
                                   memory_hint::streaming, memory_hint::coherent}) {
        buffer& b = over(hint);
        EXPECT_EQ(b.options().access, host_access::constant);
        for (const byte_range& each :
             {byte_range{64, 4096}, byte_range{1, 3}, byte_range{page_bytes - 9, page_bytes}}) {
            buffer part = b.view(each.begin, each.size());
            part.read(where_).release();
            bytes seen(each.size());
            part.copy_to(seen, where_);
            EXPECT_TRUE(same(seen, pages_.all().subspan(each.begin, each.size())));
        }
        b.bind(where_, access::read).release();
        b.copy_view(where_).release();
        b.prefetch(where_);
        expect_unchanged();
        for (const transfer_count& each : b.statistics().transfers) {
            EXPECT_TRUE(each.to == where_ || each.why == cause::copy_to) << "the host has all";
        }
        EXPECT_EQ(b.state(), buffer_state::synchronized);
    }
}

TEST_P(constant_contract, refuses_whatever_would_write) {
    buffer& b = over();
    buffer part = b.view(1000, 64);
    const bytes data(64);
    buffer other(64);
    other.copy_from(data);
    const std::vector<std::pair<const char*, std::function<void()>>> writes{
        {"write at host", [&] { b.write(host); }},
        {"a pointer to write", [&] { b.host(); }},
        {"read_write at host", [&] { part.read_write(host); }},
        {"write", [&] { b.write(where_); }},
        {"read_write of a part", [&] { part.read_write(where_); }},
        {"two leases", [&] { static_cast<void>(lease_together(part.to_write(where_), other.to_read(host))); }},
        {"host_view", [&] { b.host_view(); }},
        {"fill", [&] { b.fill(std::span(data).first(1)); }},
        {"fill of a part there", [&] { part.fill(data, where_); }},
        {"copy_from", [&] { part.copy_from(data); }},
        {"copy_from past the host", [&] { part.copy_from(data, where_); }},
        {"copy_from a buffer", [&] { part.copy_from(other); }},
        {"copy_to from another", [&] { other.copy_to(part); }},
        {"mark_dirty", [&] { b.mark_dirty(where_); }},
        {"mark_dirty of a part", [&] { part.mark_dirty(where_); }},
        {"discard_content", [&] { b.discard_content(); }},
        {"bind", [&] { b.bind(where_, access::read_write); }},
        {"share", [&] { b.share(); }},
        {"discard of a part of the host's", [&] { part.discard(host); }},
    };
    for (const bool is_at_device : {false, true}) {
        if (is_at_device) b.read(where_).release();
        for (const auto& [name, write] : writes) {
            std::string message;
            EXPECT_EQ(code_of(write, &message), error_code::invalid_argument) << name;
            EXPECT_NE(message.find("its content is constant"), std::string::npos) << name << ": " << message;
            expect_unchanged();
        }
    }
    memory_pool pool;
    EXPECT_EQ(code_of([&] { pool.release(std::move(b)); }), error_code::invalid_argument);
}

TEST_P(constant_contract, is_news_where_a_mark_of_the_host_says_so) {
    for (const memory_hint hint : {memory_hint::none, memory_hint::gpu_preferred}) {
        buffer& b = over(hint);
        expect_unchanged();
        pages_.change(2);
        b.mark_host_dirty();
        expect_unchanged();
        pages_.change(3);
        b.view(0, page_bytes / 2).mark_dirty(host);
        b.view(page_bytes / 2, page_bytes - page_bytes / 2).mark_host_dirty();
        expect_unchanged();
    }
}

TEST_P(constant_contract, is_given_back_once_a_device_has_all) {
    auto pages = std::make_shared<test::pages_for_reading>();
    const std::weak_ptr<test::pages_for_reading> seen = pages;
    const std::span<const std::byte> memory = pages->all();
    buffer b = buffer::over(memory, std::move(pages), {.hint = memory_hint::gpu_preferred, .device = where_});
    EXPECT_EQ(code_of([&] { b.discard(host); }), error_code::access_conflict);
    b.read(where_).release();
    if (where_ == host_as_device) {  // it has no other memory
        EXPECT_EQ(code_of([&] { b.discard(host); }), error_code::access_conflict);
        EXPECT_FALSE(seen.expired());
        return;
    }
    b.discard(host);
    EXPECT_TRUE(seen.expired());
    EXPECT_TRUE(same(read_at(b, host), noise(page_bytes, 1)));
    EXPECT_EQ(code_of([&] { b.write(where_); }), error_code::invalid_argument) << "it is constant all the same";
    EXPECT_TRUE(same(read_at(b, where_), noise(page_bytes, 1)));
}

}  // namespace
}  // namespace unibuf::contract
