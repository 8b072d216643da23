// bench/tracking_methods.cpp: tracking_methods, which compares ways to find what a program has written, and move that.
//
//     tracking_methods [JSON]
//
// A round is: the program writes; what it wrote is found, and looked for anew from then on; that is copied elsewhere.
// Page protection with a signal handler is here only to be compared with: system calls fail on its pages.
#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "system/pages.hpp"
#include "tracking/compared.hpp"
#include "tracking/watch.hpp"

namespace {

using unibuf::byte_range;
using ranges = std::vector<byte_range>;

const std::size_t page = unibuf::system::page_size();
constexpr std::size_t line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

class mapping {
public:
    mapping(std::size_t bytes, bool huge) : bytes_((bytes + huge_page - 1) / huge_page * huge_page + huge_page) {
        void* const pages = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED) throw std::bad_alloc();
        ::madvise(pages, bytes_, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
        address_ = static_cast<std::byte*>(pages);
        std::memset(address_, 1, bytes_);
    }
    ~mapping() { ::munmap(address_, bytes_); }
    mapping(const mapping&) = delete;
    mapping& operator=(const mapping&) = delete;

    std::byte* data() const noexcept { return address_; }

private:
    std::size_t bytes_;
    std::byte* address_;
};

class method {
public:
    virtual ~method() = default;
    virtual void arm() = 0;
    virtual void find(ranges& found) = 0;  // also arms again
};

class by_kernel final : public method {
public:
    explicit by_kernel(std::span<std::byte> memory)
        : memory_(memory), watch_(unibuf::tracking::make_watch(whole_pages(), unibuf::tracking::own_pages::all)) {
        if (!watch_) throw std::runtime_error(unibuf::tracking::about().description);
    }
    void arm() override { watch_->arm({0, memory_.size()}); }
    void find(ranges& found) override { watch_->scan({0, memory_.size()}, {}, found); }

private:
    std::span<std::byte> whole_pages() const { return {memory_.data(), (memory_.size() + page - 1) / page * page}; }

    std::span<std::byte> memory_;
    std::unique_ptr<unibuf::tracking::watch> watch_;
};

class by_signal final : public method {
public:
    explicit by_signal(std::span<std::byte> memory)
        : memory_(memory.data(), (memory.size() + page - 1) / page * page), written_(memory_.size() / page) {
        only = this;
        struct sigaction action{};
        action.sa_sigaction = [](int, siginfo_t* what, void*) { only->fault(static_cast<std::byte*>(what->si_addr)); };
        action.sa_flags = SA_SIGINFO;
        ::sigaction(SIGSEGV, &action, &before_);
    }
    ~by_signal() override {
        ::mprotect(memory_.data(), memory_.size(), PROT_READ | PROT_WRITE);
        ::sigaction(SIGSEGV, &before_, nullptr);
    }
    void arm() override { ::mprotect(memory_.data(), memory_.size(), PROT_READ); }
    void find(ranges& found) override {
        arm();
        for (std::size_t i = 0; i < written_.size(); ++i) {
            if (!written_[i]) continue;
            written_[i] = 0;
            if (!found.empty() && found.back().end == i * page) {
                found.back().end += page;
            } else {
                found.push_back({i * page, (i + 1) * page});
            }
        }
    }

private:
    void fault(std::byte* at) {
        const auto index = static_cast<std::size_t>(at - memory_.data()) / page;
        if (index >= written_.size()) std::abort();
        written_[index] = 1;
        ::mprotect(memory_.data() + index * page, page, PROT_READ | PROT_WRITE);
    }

    static inline by_signal* only = nullptr;
    std::span<std::byte> memory_;
    std::vector<unsigned char> written_;
    struct sigaction before_{};
};

class by_comparing final : public method {
public:
    explicit by_comparing(std::span<std::byte> memory) : all_{0, memory.size()}, piece_(memory, all_) {}
    void arm() override { piece_.take(all_); }
    void find(ranges& found) override { piece_.scan(all_, {}, found); }

private:
    byte_range all_;
    unibuf::tracking::compared_piece piece_;
};

class not_at_all final : public method {
public:
    explicit not_at_all(std::span<std::byte> memory) : all_{0, memory.size()} {}
    void arm() override {}
    void find(ranges& found) override { found.push_back(all_); }

private:
    byte_range all_;
};

/// A pattern of what the program writes. Where it has less than a page, it writes a line.
struct pattern {
    std::string name;
    std::function<ranges(std::size_t bytes)> writes;  // gives nothing where the pattern makes no sense for so few bytes
};

ranges one(std::size_t bytes) {
    const std::size_t unit = bytes < page ? line : page;
    return {{bytes / 2, bytes / 2 + std::min(unit, bytes)}};
}

ranges one_percent(std::size_t bytes) {
    const std::size_t pages = bytes / page;
    std::vector<std::size_t> all(pages);
    for (std::size_t i = 0; i < pages; ++i) all[i] = i;
    std::ranges::shuffle(all, std::minstd_rand(1));
    ranges result;
    for (std::size_t i = 0; i < pages / 100; ++i) result.push_back({all[i] * page, (all[i] + 1) * page});
    return result;
}

struct times {
    double write = 0;
    double find = 0;
    double copy = 0;
    double all() const { return write + find + copy; }
};

double median_of(std::vector<times>& all, double (*of)(const times&)) {
    std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), {}, of);
    return of(all[all.size() / 2]);
}

/// Returns the times in microseconds, each the median of its own.
times measure(method& by, std::span<std::byte> memory, std::byte* to, const ranges& writes) {
    using clock = std::chrono::steady_clock;
    const auto us = [](clock::duration taken) { return std::chrono::duration<double, std::micro>(taken).count(); };
    by.arm();
    ranges found;
    std::vector<times> rounds;
    const clock::time_point end = clock::now() + std::chrono::milliseconds(1500);
    for (int i = 0; i < 5 || (i < 2000 && clock::now() < end); ++i) {
        found.clear();
        const clock::time_point start = clock::now();
        for (const byte_range& each : writes) std::memset(memory.data() + each.begin, i, each.size());
        const clock::time_point written = clock::now();
        by.find(found);
        const clock::time_point known = clock::now();
        for (const byte_range& each : found) std::memcpy(to + each.begin, memory.data() + each.begin, each.size());
        const clock::time_point moved = clock::now();
        if (i > 0) rounds.push_back({us(written - start), us(known - written), us(moved - known)});
    }
    return {median_of(rounds, [](const times& each) { return each.write; }),
            median_of(rounds, [](const times& each) { return each.find; }),
            median_of(rounds, [](const times& each) { return each.copy; })};
}

template <class Method>
std::unique_ptr<method> make(std::span<std::byte> memory) {
    return std::make_unique<Method>(memory);
}

std::string size_text(std::size_t bytes) {
    if (bytes >= 1U << 20) return fmt::format("{} MiB", bytes >> 20);
    return bytes >= 1024 ? fmt::format("{} KiB", bytes >> 10) : fmt::format("{} B", bytes);
}

void run(const char* json) {
    const std::vector<pattern> patterns{{"nothing", [](std::size_t) { return ranges{}; }},
                                        {"one page", one},
                                        {"1 % of the pages", one_percent},
                                        {"all", [](std::size_t bytes) { return ranges{{0, bytes}}; }}};
    using maker = std::unique_ptr<method> (*)(std::span<std::byte>);
    constexpr std::array<std::pair<const char*, maker>, 4> methods{{{"kernel", make<by_kernel>},
                                                                    {"signal", make<by_signal>},
                                                                    {"compare", make<by_comparing>},
                                                                    {"copy all", make<not_at_all>}}};
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    fmt::print("{:<18} {:>8} {:<6} {:<9} {:>10} {:>10} {:>10} {:>10} us\n", "written", "of", "pages", "by", "write",
               "find", "copy", "round");
    for (const pattern& what : patterns) {
        for (const std::size_t bytes : {256U, 1U << 10, 4U << 10, 64U << 10, 1U << 20, 256U << 20}) {
            if (what.name[0] == '1' && bytes / page < 100) continue;
            for (const bool huge : {false, true}) {
                if (huge && bytes < huge_page) continue;
                for (const auto& [name, make_method] : methods) {
                    const mapping memory(bytes, huge);
                    const mapping to(bytes, true);
                    const std::span used(memory.data(), bytes);
                    const std::unique_ptr<method> by = make_method(used);
                    const times found = measure(*by, used, to.data(), what.writes(bytes));
                    const char* const pages = huge ? "huge" : "small";
                    fmt::print("{:<18} {:>8} {:<6} {:<9} {:>10.2f} {:>10.2f} {:>10.2f} {:>10.2f}\n", what.name,
                               size_text(bytes), pages, name, found.write, found.find, found.copy, found.all());
                    list.push_back({{"written", what.name},
                                    {"bytes", bytes},
                                    {"pages", pages},
                                    {"by", name},
                                    {"write_us", found.write},
                                    {"find_us", found.find},
                                    {"copy_us", found.copy},
                                    {"round_us", found.all()}});
                }
            }
        }
    }
    if (json && !(std::ofstream(json) << list.dump(4) << '\n')) throw std::runtime_error("cannot write the file");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        run(argc > 1 ? argv[1] : nullptr);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "tracking_methods: %s\n", failure.what());
        return 1;
    }
    return 0;
}
