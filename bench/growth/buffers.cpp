// bench/growth/buffers.cpp: many buffers: on a full device, in pools, with names.
#include <sys/resource.h>
#include <unibuf/unibuf.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "count.hpp"
#include "curve.hpp"

namespace growth::buffers {
namespace {

using unibuf::buffer;
using unibuf::space;

constexpr std::array one{std::byte{1}};
constexpr std::size_t small = 64;  // bytes of a buffer

std::shared_ptr<std::vector<buffer>> written(std::size_t count) {
    auto all = std::make_shared<std::vector<buffer>>();
    for (std::size_t i = 0; i < count; ++i) {
        all->emplace_back(small);
        all->back().fill(one);
    }
    return all;
}

/// An access at a device that has room for half of the buffers, which are used in turns.
std::function<void()> use_in_turns(std::size_t alive, unibuf::access what) {
    const space where("debug:0");
    const auto all = written(2 * alive);
    unibuf::limit_memory(where, small * alive);
    for (buffer& each : *all) each.acquire(where, what, {}).end();
    return [=, next = std::size_t{0}]() mutable { (*all)[next++ % all->size()].acquire(where, what, {}).end(); };
}

/// Changes ten lines of memory of each of as many objects, in turns.
std::function<void()> touch_in_turns(std::size_t alive) {
    struct object {
        std::array<std::array<std::byte, 64>, 10> lines{};
    };
    const auto all = std::make_shared<std::vector<std::unique_ptr<object>>>();
    for (std::size_t i = 0; i < 2 * alive; ++i) all->push_back(std::make_unique<object>());
    return [=, next = std::size_t{0}]() mutable {
        for (auto& line : (*all)[next % all->size()]->lines) line[0] = static_cast<std::byte>(next);
        ++next;
    };
}

const curve evict_clean(
    "buffers.evict_clean", flat, [](std::size_t alive) { return use_in_turns(alive, unibuf::access::read); },
    touch_in_turns);
const curve evict_written(
    "buffers.evict_written", flat, [](std::size_t alive) { return use_in_turns(alive, unibuf::access::read_write); },
    touch_in_turns);

/// Evictions where each copy has a view, which its holder lets go of.
const curve evict_viewed("buffers.evict_viewed", flat, [](std::size_t alive) {
    const space where("debug:0");
    const auto all = written(2 * alive);
    const auto views = std::make_shared<std::vector<std::shared_ptr<std::optional<unibuf::copy_view>>>>();
    unibuf::limit_memory(where, small * alive);
    const auto use = [=](std::size_t index) {
        (*all)[index].read(where).release();
        auto& view = *(*views)[index];
        view.emplace((*all)[index].hold_copy(where));
        view->held_by(
            {[](void* of) noexcept { static_cast<std::optional<unibuf::copy_view>*>(of)->reset(); }, (*views)[index]});
    };
    for (std::size_t i = 0; i < all->size(); ++i) {
        views->push_back(std::make_shared<std::optional<unibuf::copy_view>>());
        use(i);
    }
    return [=, next = std::size_t{0}]() mutable { use(next++ % all->size()); };
});

/// Evictions of two idle copies in turns, beside copies that are busy for good.
const curve evict_beside_busy("buffers.evict_beside_busy", flat, [](std::size_t alive) {
    const space where("debug:0");
    const auto all = written(alive + 2);
    const unibuf::fence never(std::make_shared<endless>());
    for (std::size_t i = 0; i < alive; ++i) (*all)[i].write(where).release(never);
    unibuf::limit_memory(where, unibuf::memory_in(where).held + small);
    return [=, next = std::size_t{0}]() mutable { (*all)[alive + next++ % 2].read(where).release(); };
});

const curve made("buffers.made", flat, [](std::size_t alive) {
    const auto all = written(alive);
    return [=] { buffer(small).fill(one); };
});

const curve named("buffers.named", flat, [](std::size_t alive) {
    const auto all = written(alive);
    for (std::size_t i = 0; i < alive; ++i) unibuf::get_registry().add("name " + std::to_string(i), (*all)[i]);
    return [=] {
        buffer more(small);
        unibuf::get_registry().add("one more", more);
    };
});

/// Lets the process have so many files open. Throws where the system does not.
void allow_files(std::size_t count) {
    rlimit most{};
    ::getrlimit(RLIMIT_NOFILE, &most);
    if (most.rlim_cur >= count) return;
    const rlimit wanted{.rlim_cur = count, .rlim_max = std::max<rlim_t>(most.rlim_max, count)};
    if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) return;
    throw unibuf::error(unibuf::error_code::device_unavailable,
                        "a process may not have " + std::to_string(count) + " files open here: see ulimit -n");
}

/// A buffer that other processes may have, made and ended.
const curve shared("buffers.shared", flat, [](std::size_t alive) {
    allow_files(alive + 100);
    const auto all = written(alive);
    for (buffer& each : *all) static_cast<void>(each.share());
    return [=] {
        buffer more(small);
        more.fill(one);
        cost::use(more.share());
    };
});

/// A batch that brings a tenth of the buffers to the device.
const curve batch("buffers.batch", linear, [](std::size_t alive) {
    const space where("debug:0");
    const auto all = written(alive / 10);
    return [=] {
        for (buffer& each : *all) each.fill(one, unibuf::host);
        unibuf::batch there(where);
        for (buffer& each : *all) there.sync(each);
        there.submit();
    };
});

const curve pool("pool.pair", flat, [](std::size_t alive) {
    const auto of = std::make_shared<unibuf::memory_pool>();
    of->reserve(alive, small);
    return [=] { of->release(of->acquire(small)); };
});

const curve pool_at_limit("pool.release_at_limit", flat, [](std::size_t alive) {
    const auto of = std::make_shared<unibuf::memory_pool>();
    std::vector<buffer> all;
    for (std::size_t i = 0; i < alive; ++i) all.push_back(of->acquire(1024));
    for (buffer& each : all) of->release(std::move(each));
    of->limit(1024 * alive);
    return [=] {
        of->release(of->acquire(4096));
        of->release(of->acquire(1024));
    };
});

const curve pool_views("pool.views_out", flat, [](std::size_t alive) {
    const auto of = std::make_shared<unibuf::memory_pool>();
    const auto views = std::make_shared<std::vector<buffer>>();
    std::vector<buffer> all;
    for (std::size_t i = 0; i < alive; ++i) {
        all.push_back(of->acquire(512));
        views->push_back(all.back().view(0, 64));
    }
    for (buffer& each : all) of->release(std::move(each));
    return [=] { of->release(of->acquire(512)); };
});

/// A thread's first use of one more pool.
const curve pools("pool.first_use", flat, [](std::size_t alive) {
    const auto all = std::make_shared<std::vector<std::unique_ptr<unibuf::memory_pool>>>();
    for (std::size_t i = 0; i < alive; ++i) {
        all->push_back(std::make_unique<unibuf::memory_pool>());
        all->back()->release(all->back()->acquire(small));
    }
    return [=] {
        unibuf::memory_pool more;
        more.release(more.acquire(small));
    };
});

}  // namespace
}  // namespace growth::buffers
