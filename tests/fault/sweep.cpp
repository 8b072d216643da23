// fault/sweep.cpp: the states, the verbs, and what must hold after each.
#include "fault/sweep.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "fault/no_memory.hpp"
#include "support/bytes.hpp"
#include "support/fake_device.hpp"
#include "support/sanitizers.hpp"
#include "tracking/host_writes.hpp"
#include "unibuf/batch.hpp"
#include "unibuf/buffer.hpp"
#include "unibuf/error.hpp"
#include "unibuf/memory_pool.hpp"

namespace unibuf::test {

namespace {

constexpr std::byte old_value{1};     // of all bytes, before anything is tried
constexpr std::byte newer_value{3};   // of what one space has written since
constexpr std::byte stored_value{5};  // of what the program has stored through a pointer
constexpr std::byte new_value{7};     // of what the verb writes

constexpr std::size_t most_runs_watched = 8;

}  // namespace

/// A buffer in some state, and what its bytes are.
struct tried {
    explicit tried(std::size_t size) : whole(size, old_value) {}

    bytes whole;  // the newest content
    std::optional<buffer> of;
    std::vector<copy_view> held;
    std::vector<host_view<std::byte>> views;
    std::vector<standing_hold> bound;
    std::byte* pointer = nullptr;
    std::shared_ptr<bytes> given;
    std::unique_ptr<memory_pool> pool;

    std::size_t size() const { return whole.size(); }

    /// Rows of which columns are taken: of small content so many as are watched one by one, else more.
    std::size_t rows() const { return size() > 4096 ? most_runs_watched + 4 : most_runs_watched - 2; }
    std::size_t row() const { return size() / rows(); }

    /// A range in the middle, which cuts pages and lines.
    std::size_t begin() const { return size() / 3 + 5; }
    std::size_t count() const { return size() / 8 + 3; }
    access_options middle() const { return {.offset = begin(), .count = count()}; }
    buffer part() { return of->view(begin(), count()); }
    bytes patch() const { return bytes(count(), new_value); }
};

struct state_case {
    const char* name;
    void (*make)(tried&, space d);
};

namespace {

/// The program writes what it has leased.
void put(const auto& held, std::byte value) {
    const no_memory::suspended program;
    if (held.address()) {
        std::fill_n(held.address(), held.native().bytes, value);
    } else {
        kernel_write(held.native(), 0, bytes(held.native().bytes, value));
    }
}

void write(buffer& to, space where, const access_options& options, std::byte value) {
    put(to.acquire(where, access::write, options), value);
}

bytes read(const buffer& of, space where) {
    const byte_lease held = of.acquire(where, access::read, {});
    if (held.address()) return {held.address(), held.address() + held.native().bytes};
    return kernel_read(held.native());
}

/// Bytes that a device could not have back are told of once.
void resume(standing_hold& of) {
    try {
        of.resume();
    } catch (const error&) {
    }
}

void set(tried& of, std::size_t begin, std::size_t count, std::byte value) {
    std::fill_n(of.whole.begin() + static_cast<std::ptrdiff_t>(begin), count, value);
}

void store(tried& of) {
    for (const std::size_t at : {of.size() / 50, of.size() / 3 + 1, of.size() / 2, of.size() - 1}) {
        of.pointer[at] = of.whole[at] = stored_value;
    }
}

void everywhere(tried& of, space d) {
    of.of.emplace(of.size());
    of.of->copy_from(of.whole);
    read(*of.of, d);
}

void newer_at(tried& of, space where, std::size_t begin, std::size_t count) {
    write(*of.of, where, {.offset = begin, .count = count}, newer_value);
    set(of, begin, count, newer_value);
}

buffer column_of(tried& of, std::size_t from, std::size_t to) {
    const std::size_t rows = of.rows();
    const slice along[] = {{0, rows, 1}, {from, to, 1}};
    return of.of->view(0, rows * of.row()).view(shape(rows, of.row()), 1, along);
}

const std::vector<state_case> states{
    {"at_host_alone",
     [](tried& of, space) {
         of.of.emplace(of.size());
         of.of->copy_from(of.whole);
     }},
    {"everywhere", everywhere},
    {"at_device_alone",
     [](tried& of, space d) {
         of.of.emplace(of.size());
         newer_at(of, d, 0, of.size());
     }},
    {"newer_at_device",
     [](tried& of, space d) {
         everywhere(of, d);
         newer_at(of, d, 0, of.size());
     }},
    {"newer_at_host",
     [](tried& of, space d) {
         everywhere(of, d);
         newer_at(of, host, 0, of.size());
     }},
    {"in_ranges",
     [](tried& of, space d) {
         everywhere(of, d);
         for (std::size_t i = 0; i < 6; ++i) newer_at(of, i % 2 ? host : d, of.size() * i / 6 + 3, of.size() / 9);
     }},
    {"stored_through_a_pointer",
     [](tried& of, space d) {
         everywhere(of, d);
         of.pointer = of.of->host();
         read(*of.of, d);
         store(of);
     }},
    {"found_before",
     [](tried& of, space d) {
         everywhere(of, d);
         of.pointer = of.of->host();
         read(*of.of, d);
         store(of);
         (void)of.of->state();
     }},
    {"stored_beside_newer_bytes",
     [](tried& of, space d) {
         everywhere(of, d);
         of.pointer = of.of->host();
         newer_at(of, d, of.size() / 4, of.size() / 90);
         store(of);
     }},
    {"stored_into_a_view",
     [](tried& of, space d) {
         everywhere(of, d);
         of.views.push_back(of.of->host_view());
         of.pointer = of.views.back().data();
         read(*of.of, d);
         store(of);
     }},
    {"a_column_newer_at_device",
     [](tried& of, space d) {
         everywhere(of, d);
         buffer column = column_of(of, 10, 20);
         column.fill(std::vector{newer_value}, d);
         for (std::size_t i = 0; i < of.rows(); ++i) set(of, i * of.row() + 10, 10, newer_value);
     }},
    {"columns_newer_at_host",
     [](tried& of, space d) {
         everywhere(of, d);
         for (const std::size_t from : {std::size_t{10}, std::size_t{60}}) {
             column_of(of, from, from + 10).fill(std::vector{newer_value}, host);
             for (std::size_t i = 0; i < of.rows(); ++i) set(of, i * of.row() + from, 10, newer_value);
         }
     }},
    {"bound_to_a_device",
     [](tried& of, space d) {
         everywhere(of, d);
         const slice along[] = {{0, of.rows(), 1}, {30, 40, 1}};
         of.bound.push_back(
             of.of->view(0, of.rows() * of.row()).view(shape(of.rows(), of.row()), 1, along).bind(d, access::read));
     }},
    {"shown_at_a_device",
     [](tried& of, space d) {
         everywhere(of, d);
         of.held.push_back(of.of->copy_view(d));
     }},
    {"over_given_memory",
     [](tried& of, space d) {
         of.given = std::make_shared<bytes>(of.size() + 13, old_value);
         of.of.emplace(buffer::over(std::span(*of.given).subspan(13), of.given));
         read(*of.of, d);
         of.pointer = of.given->data() + 13;
         store(of);
     }},
    {"of_a_pool",
     [](tried& of, space d) {
         of.pool = std::make_unique<memory_pool>();
         of.of.emplace(of.pool->acquire(of.size()));
         of.of->copy_from(of.whole);
         read(*of.of, d);
     }},
};

void nothing(const tried&, bytes&) {}
void the_middle(const tried& of, bytes& content) {
    std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(of.begin()), of.count(), new_value);
}
void all_of_it(const tried&, bytes& content) { std::ranges::fill(content, new_value); }
void zeros_in_the_middle(const tried& of, bytes& content) {
    std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(of.begin()), of.count(), std::byte{0});
}
void a_column(const tried& of, bytes& content) {
    for (std::size_t i = 0; i < of.rows(); ++i) {
        std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(i * of.row() + 5), 20, new_value);
    }
}

const std::vector<std::byte> pattern{new_value};

const std::vector<verb_case> all_verbs{
    {"read_at_host", [](tried& of, space) { of.of->read(host); }, nothing},
    {"read_at_device", [](tried& of, space d) { of.of->read(d); }, nothing},
    {"read_a_part_at_host", [](tried& of, space) { of.of->read(host, of.middle()); }, nothing},
    {"read_a_part_at_device", [](tried& of, space d) { of.of->read(d, of.middle()); }, nothing},
    {"write_at_host", [](tried& of, space) { write(*of.of, host, {}, new_value); }, all_of_it},
    {"write_at_device", [](tried& of, space d) { write(*of.of, d, {}, new_value); }, all_of_it},
    {"write_a_part_at_host", [](tried& of, space) { write(*of.of, host, of.middle(), new_value); }, the_middle},
    {"write_a_part_at_device", [](tried& of, space d) { write(*of.of, d, of.middle(), new_value); }, the_middle},
    {"read_write_a_part_at_host",
     [](tried& of, space) { put(of.of->acquire(host, access::read_write, of.middle()), new_value); }, the_middle},
    {"read_write_a_part_at_device",
     [](tried& of, space d) { put(of.of->acquire(d, access::read_write, of.middle()), new_value); }, the_middle},
    {"write_a_column_at_device",
     [](tried& of, space d) {
         buffer column = column_of(of, 5, 25);
         const byte_lease held = column.acquire(d, access::read_write, {});
         const no_memory::suspended program;
         if (held.address()) {
             for (std::size_t i = 0; i < of.rows(); ++i) {
                 std::fill_n(held.address() + i * of.row(), 20, new_value);
             }
         } else {
             for (std::size_t i = 0; i < of.rows(); ++i) {
                 kernel_write(held.native(), i * of.row(), bytes(20, new_value));
             }
         }
     },
     a_column},
    {"two_leases_together",
     [](tried& of, space d) {
         buffer other(of.count());
         other.copy_from(bytes(of.count(), std::byte{2}));
         auto [from, to] = lease_together(other.to_read(d), of.of->to_write(d, of.middle()));
         put(to, new_value);
     },
     the_middle},
    {"state", [](tried& of, space) { (void)of.of->state(); }, nothing},
    {"sync_to_host", [](tried& of, space) { of.of->sync_to_host(); }, nothing},
    {"sync_to_device", [](tried& of, space) { of.of->sync_to_device(); }, nothing},
    {"prefetch_to_host", [](tried& of, space) { of.of->prefetch(host, of.middle()); }, nothing},
    {"prefetch_to_device", [](tried& of, space d) { of.of->prefetch(d, of.middle()); }, nothing},
    {"batch_to_device",
     [](tried& of, space d) {
         buffer other(of.count());
         batch together(d);
         together.write(other, of.patch());
         together.sync(*of.of);
         together.submit();
     },
     nothing},
    {"batch_of_a_part",
     [](tried& of, space d) {
         batch together(d);
         together.write(*of.of, of.patch(), of.begin());
         together.submit();
     },
     the_middle, in_steps::always},
    {"host_pointer", [](tried& of, space) { of.of->host(); }, nothing},
    {"host_pointer_and_store", [](tried& of, space) { std::ranges::copy(of.patch(), of.of->host() + of.begin()); },
     the_middle},
    {"release_host", [](tried& of, space) { of.of->release_host(); }, nothing},
    {"host_view",
     [](tried& of, space) {
         auto view = of.of->host_view(of.begin(), of.count());
         std::ranges::copy(of.patch(), view.data());
     },
     the_middle},
    {"copy_view_at_device", [](tried& of, space d) { (void)of.of->copy_view(d, of.begin(), of.count()); }, nothing},
    {"device_handle", [](tried& of, space) { of.of->device(); }, nothing},
    {"release_device", [](tried& of, space) { of.of->release_device(); }, nothing},
    {"bind", [](tried& of, space d) { of.part().bind(d, access::read_write).release(); }, nothing},
    {"mark_host_dirty",
     [](tried& of, space) {
         of.of->sync_to_host();
         of.of->mark_host_dirty(of.begin(), of.count());
     },
     nothing},
    {"mark_device_dirty",
     [](tried& of, space) {
         of.of->sync_to_device();
         of.of->mark_device_dirty(of.begin(), of.count());
     },
     nothing},
    {"fill", [](tried& of, space) { of.of->fill(pattern); }, all_of_it},
    {"fill_a_part", [](tried& of, space) { of.part().fill(pattern); }, the_middle},
    {"fill_a_part_at_host", [](tried& of, space) { of.part().fill(pattern, host); }, the_middle},
    {"fill_a_part_at_device", [](tried& of, space d) { of.part().fill(pattern, d); }, the_middle},
    {"fill_a_column", [](tried& of, space) { column_of(of, 5, 25).fill(pattern); }, a_column, in_steps::where_queued},
    {"fill_a_column_at_device", [](tried& of, space d) { column_of(of, 5, 25).fill(pattern, d); }, a_column,
     in_steps::where_queued},
    {"copy_from", [](tried& of, space) { of.of->copy_from(of.patch(), of.begin()); }, the_middle},
    {"copy_from_at_device", [](tried& of, space d) { of.of->copy_from(of.patch(), d, of.begin()); }, the_middle},
    {"copy_to",
     [](tried& of, space) {
         bytes got(of.count());
         of.of->copy_to(got, of.begin());
     },
     nothing},
    {"copy_to_at_device",
     [](tried& of, space d) {
         bytes got(of.count());
         of.of->copy_to(got, d, of.begin());
     },
     nothing},
    {"copy_from_a_buffer",
     [](tried& of, space) {
         buffer from(of.count());
         from.copy_from(of.patch());
         of.of->copy_from(from, of.begin());
     },
     the_middle},
    {"copy_from_a_buffer_at_device",
     [](tried& of, space d) {
         buffer from(of.count());
         from.copy_from(of.patch());
         read(from, d);
         from.discard(host);
         of.of->copy_from(from, of.begin());
     },
     the_middle},
    {"copy_from_a_column_of_a_buffer",
     [](tried& of, space d) {
         buffer from(of.rows() * 50);
         write(from, d, {}, new_value);
         const slice along[] = {{0, of.rows(), 1}, {15, 35, 1}};
         column_of(of, 5, 25).copy_from(from.view(shape(of.rows(), 50), 1, along));
     },
     a_column, in_steps::where_queued},
    {"copy_to_a_buffer",
     [](tried& of, space) {
         buffer to(of.size());
         to.copy_from(*of.of);
     },
     nothing},
    {"discard_the_host",
     [](tried& of, space) {
         of.of->sync_to_device();
         of.of->discard(host);
     },
     nothing},
    {"discard_the_device",
     [](tried& of, space d) {
         of.of->sync_to_host();
         of.of->discard(d);
     },
     nothing},
    {"discard_content", [](tried& of, space) { of.part().discard_content(); }, zeros_in_the_middle},
};

const place all_places[] = {
    {"debug", [] { return space("debug:0"); }},
    {"mirrored", [] { return fake_device::get({}).where(); }},
    {"asynchronous", [] { return fake_device::get({.asynchronous = true}).where(); }},
    {"aliasing", [] { return fake_device::get({.aliases = true}).where(); }},
    {"visible", [] { return fake_device::get({.visible = true}).where(); }},
};

/// What was queued and failed is told of once by each end of it.
bytes read_at_last(const buffer& of, space where) {
    for (int left = 3;; --left) {
        try {
            return read(of, where);
        } catch (const error&) {
            if (left == 0) throw;
        }
    }
}

}  // namespace

std::span<const place> places() { return all_places; }
std::span<const verb_case> verbs() { return all_verbs; }

sweep::sweep() {
    set_default_device(where_);
    detail::host_writes::most_runs = most_runs_watched;
}
sweep::~sweep() {
    set_default_device(host);
    detail::host_writes::most_runs = 64;
}

void sweep::try_all(const failing& fails) {
    // The address sanitizer takes ten times as long: there, calls of long loops are further apart than the first ones.
    const auto next = [](unsigned n) { return has_address_sanitizer ? n + 7 + n / 8 : n + 1; };
    for (const std::size_t size : {std::size_t{20} << 10, std::size_t{3000}}) {
        for (const state_case& state : states) {
            bool failed = true;
            for (unsigned n = 0; failed; n = next(n)) {
                ASSERT_LT(n, 3000u);
                failed = false;
                for (const bool host_first : {false, true}) {
                    SCOPED_TRACE(std::string(state.name) + ", " + std::to_string(size) + " bytes, call " +
                                 std::to_string(n) + (host_first ? ", host first" : ""));
                    failed |= try_one(state, size, n, host_first, fails);
                }
            }
        }
    }
}

/// Returns whether a call failed.
bool sweep::try_one(const state_case& state, std::size_t size, unsigned n, bool host_first, const failing& fails) {
    const auto& [at, verb] = GetParam();
    const bool takes_steps = verb.steps == in_steps::always ||
                             (verb.steps == in_steps::where_queued && at.name == std::string("asynchronous"));
    tried of(size);
    state.make(of, where_);
    bool threw = false;
    const std::function<void()> act = [&] {
        try {
            verb.call(of, where_);
        } catch (const std::bad_alloc&) {
            threw = true;
        } catch (const error&) {
            threw = true;
        }
    };
    const bool failed = fails(n, act);
    for (standing_hold& each : of.bound) resume(each);
    bytes after = of.whole;
    verb.after(of, after);
    try {
        const bytes first = read_at_last(*of.of, host_first ? host : where_);
        const bytes second = read_at_last(*of.of, host_first ? where_ : host);
        const bool is_right = first == second && first == (threw ? of.whole : after);
        for (std::size_t i = 0; i < size && !is_right; ++i) {
            const bool is_one_of_both =
                threw ? first[i] == of.whole[i] || ((takes_steps || may_end_half_way()) && first[i] == after[i])
                      : first[i] == after[i];
            if (first[i] == second[i] && is_one_of_both) continue;
            ADD_FAILURE() << "byte " << i << (threw ? " is " : ", though the call succeeded, is ")
                          << std::to_integer<int>(first[i]) << " where it is read first, then "
                          << std::to_integer<int>(second[i]) << "; it was " << std::to_integer<int>(of.whole[i])
                          << ", and was to become " << std::to_integer<int>(after[i]);
            break;
        }
    } catch (const std::exception& failure) {
        ADD_FAILURE() << failure.what();
    }
    return failed;
}

std::string name_of(const testing::TestParamInfo<sweep::ParamType>& of) {
    return std::string(std::get<0>(of.param).name) + "_" + std::get<1>(of.param).name;
}

}  // namespace unibuf::test
