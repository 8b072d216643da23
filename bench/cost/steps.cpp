// bench/cost/steps.cpp
#include "steps.hpp"

#include <dlfcn.h>
#include <link.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "instruction.hpp"

// A call whose steps are left out returns to cost_after_call, which sets the trap flag and goes where the call was to
// return to. The flag counts from the instruction after the next one on, so `ret` is not counted.
extern "C" {
extern const std::byte cost_after_call [[gnu::visibility("hidden")]];
std::uint64_t cost_return_address [[gnu::visibility("hidden")]] = 0;
}
asm(R"(
    .pushsection .text
    .globl cost_after_call
    .hidden cost_after_call
cost_after_call:
    pushq cost_return_address(%rip)
    pushfq
    orq $0x100, (%rsp)
    popfq
    ret
    .popsection
)");

namespace cost {
namespace {

struct range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;

    bool contains(std::uint64_t address) const noexcept { return address >= begin && address < end; }
};

constinit counts taken;
constinit std::uint64_t previous = 0;  // the instruction that was counted last
constinit range driver;
constinit range clock;  // the kernel's code in each process
constinit std::array<std::uint64_t, 8> allocating{};

// The places of instructions, of as many as there is room for.
constinit std::uint64_t* places = nullptr;
constinit std::size_t places_taken = 0;
constinit std::size_t places_of_last = 0;
constexpr std::size_t places_at_most = std::size_t{1} << 22;

// A thread that is made while steps are counted has the flag, too.
[[gnu::tls_model("initial-exec")]] constinit thread_local bool counts_here = false;

/// Lets the call that has just begun go on by itself.
void leave_out_call(std::uint64_t* stack) noexcept {
    cost_return_address = *stack;
    *stack = reinterpret_cast<std::uint64_t>(&cost_after_call);
    previous = 0;
}

/// Counts the instruction that comes next. Returns whether the one after it is to be counted.
bool count(std::uint64_t next, std::uint64_t stack) noexcept {
    if (driver.contains(next) || clock.contains(next)) {
        if (driver.contains(next)) ++taken.driver_calls;
        leave_out_call(reinterpret_cast<std::uint64_t*>(stack));
        return false;
    }
    const instruction found = decoded(reinterpret_cast<const std::uint8_t*>(next));
    if (found.is_repeated && std::exchange(previous, next) == next) return true;
    previous = next;
    ++taken.instructions;
    if (places && places_taken != places_at_most) places[places_taken++] = next;
    if (found.is_locked) ++taken.locked;
    if (std::ranges::find(allocating, next) != allocating.end()) ++taken.allocations;
    if (found.is_system_call) {
        ++taken.system_calls;
        ++taken.instructions;  // the processor does not stop before the instruction after it
    }
    return true;
}

void at_step(int /*signal*/, siginfo_t* /*about*/, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto value = [&](int which) { return static_cast<std::uint64_t>(registers[which]); };
    if (!counts_here || !count(value(REG_RIP), value(REG_RSP))) registers[REG_EFL] &= ~static_cast<greg_t>(trap_flag);
}

/// Returns the code of the first library whose name has `part`, or an empty range.
range code_of(std::string_view part) {
    struct search {
        std::string_view part;
        range found;
    } looked_for{part, {}};
    ::dl_iterate_phdr(
        [](dl_phdr_info* library, std::size_t, void* data) {
            auto& search = *static_cast<struct search*>(data);
            if (std::string_view(library->dlpi_name).find(search.part) == std::string_view::npos) return 0;
            for (const ElfW(Phdr) & each : std::span(library->dlpi_phdr, library->dlpi_phnum)) {
                if (each.p_type != PT_LOAD || !(each.p_flags & PF_X)) continue;
                const std::uint64_t begin = library->dlpi_addr + each.p_vaddr;
                search.found = {begin, begin + each.p_memsz};
            }
            return 1;
        },
        &looked_for);
    return looked_for.found;
}

}  // namespace

void prepare_steps() {
    constexpr auto names = std::to_array<const char*>(
        {"malloc", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "valloc", "pvalloc"});
    for (std::size_t i = 0; i < names.size(); ++i) {
        allocating[i] = reinterpret_cast<std::uint64_t>(::dlsym(RTLD_DEFAULT, names[i]));
    }
    driver = code_of("libcuda.so");
    clock = code_of("linux-vdso.so");
    if (std::getenv("UNIBUF_COST_PLACES") && !places) places = new std::uint64_t[places_at_most];
    counts_here = true;
    struct sigaction action{};
    action.sa_sigaction = at_step;
    action.sa_flags = SA_SIGINFO;
    if (::sigaction(SIGTRAP, &action, nullptr) != 0) {
        throw std::system_error(errno, std::generic_category(), "sigaction");
    }
}

counts taken_steps() noexcept {
    previous = 0;
    const counts result = std::exchange(taken, {});
    if (result.instructions != 0) places_of_last = std::exchange(places_taken, 0);
    return result;
}

std::span<const std::uint64_t> places_of_steps() noexcept { return {places, places ? places_of_last : 0}; }

}  // namespace cost
