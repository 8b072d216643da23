// verbs/batch.cpp: many ranges of many buffers are brought to their spaces together.
#include "unibuf/batch.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "access/joint_transfer.hpp"
#include "access/letting_go.hpp"
#include "backends/spaces.hpp"
#include "containers/first_failure.hpp"
#include "containers/room.hpp"
#include "trace/recorder.hpp"
#include "unibuf/error.hpp"
#include "verbs/content.hpp"

namespace unibuf {

/// A range that is to be synced. It keeps the buffer.
struct batch::range {
    detail::core_handle of;
    region part;
};

namespace {

thread_local constinit batch* collecting = nullptr;

// So many ranges are moved together at most: their buffers stay in the cache of one processor until the moves are done.
constexpr std::size_t at_once = 512;

// A buffer is fetched into the cache so many ranges before it is needed.
constexpr std::ptrdiff_t ahead = 8;

/// Orders ranges by buffer, and by byte.
constexpr auto before = [](const auto& a, const auto& b) {
    return std::pair(a.of->id(), a.part.begin()) < std::pair(b.of->id(), b.part.begin());
};

/// Returns whether two parts are ranges which are one range together.
bool touch(const region& one, const region& other) {
    return one.is_range() && other.is_range() && other.begin() <= one.end() && one.begin() <= other.end();
}

}  // namespace

batch::batch(space to) : to_(to) {}

batch::~batch() {
    try {
        submit();
    } catch (...) {  // nothing is lost: the next access moves it
    }
}

std::size_t batch::size() const noexcept { return wanted_.size(); }

void batch::write(buffer& to, std::span<const std::byte> data, std::size_t offset) {
    const region part = to.part(offset, data.size());
    make_room(wanted_);  // nothing fails after the write
    to.copy_from(data, offset);
    add(to, part);
}

void batch::sync(const buffer& of) {
    detail::core_of(of.gate_).check_has_copy();
    add(of, of.part(0, rest));
}

void batch::add(const buffer& of, const region& part) {
    detail::core& core = detail::core_of(of.gate_);
    if (part.empty()) return;
    if (!wanted_.empty()) {
        range& last = wanted_.back();
        if (last.of.get() == &core && touch(last.part, part)) {
            last.part = last.part.hull().joined_with(part.hull());
            return;
        }
    }
    wanted_.push_back({nullptr, part});
    core.add_handle();
    wanted_.back().of.reset(&core);
}

void batch::submit() {
    const trace::batched submitting;
    if (!std::ranges::is_sorted(wanted_, before)) std::ranges::sort(wanted_, before);
    first_failure failure;
    struct part_of {
        detail::core* of;
        region part;
    };
    std::vector<part_of> alone;
    std::vector<part_of> joined;
    detail::joint_transfer together;
    const auto carry_out = [&] {
        if (const std::exception_ptr failed = together.carry_out()) {
            failure.keep(failed);
            failure.attempt([&] { alone.insert(alone.end(), joined.begin(), joined.end()); });
        }
        joined.clear();
    };
    failure.attempt([&] {
        for (const range& each : wanted_) detail::ask_before_joining(*each.of, to_, each.part);
        for (auto next = wanted_.begin(); next != wanted_.end();) {
            if (wanted_.end() - next > ahead) (next + ahead)->of->fetch_ahead();
            part_of now{next->of.get(), next->part};
            for (++next; next != wanted_.end() && next->of.get() == now.of && touch(now.part, next->part); ++next) {
                now.part = now.part.hull().joined_with(next->part.hull());
            }
            if (!now.part.is_range() || !together.join(*now.of, to_, now.part.hull())) {
                alone.push_back(now);
            } else {
                joined.push_back(now);
                if (joined.size() == at_once) carry_out();
            }
        }
    });
    carry_out();
    for (const part_of& each : alone) {
        failure.attempt([&] {
            detail::bring(*each.of, {.part = each.part, .where = to_, .why = cause::sync, .verb = "to synchronize"});
        });
    }
    failure.rethrow();
    wanted_.clear();
}

batch* batch::collecting_at(space where) noexcept {
    return collecting && collecting->to_ == detail::as_named(where) ? collecting : nullptr;
}

batch::scope::scope(batch& by) noexcept : before_(std::exchange(collecting, &by)) {}
batch::scope::~scope() { collecting = before_; }

}  // namespace unibuf
