// conv2d/main.cpp: conv2d, which convolves a picture on every memory and in every way, and compares them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "options.hpp"
#include "table.hpp"
#include "unibuf/error.hpp"

namespace {

using conv2d::options;
using conv2d::row;

/// Shows a line that follows the work, where somebody is looking.
class progress {
public:
    progress() = default;
    ~progress() { show(""); }
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;

    void show(const std::string& line) const noexcept {
        if (terminal_) std::fprintf(stderr, "\r\033[K%s", line.c_str());
    }

private:
    bool terminal_ = ::isatty(STDERR_FILENO) == 1;
};

conv2d::picture input_of(const options& asked) {
    conv2d::picture input = conv2d::load(asked.picture);
    if (asked.size) return conv2d::scaled(input, *asked.size);
    if (std::max(input.size.width, input.size.height) <= conv2d::longest_side) return input;
    throw std::runtime_error(fmt::format("the picture {} is more than {} pixels long: choose a --size",
                                         asked.picture.string(), conv2d::longest_side));
}

bool is_about_the_machine(unibuf::error_code code) noexcept {
    using enum unibuf::error_code;
    return code == device_unavailable || code == unsupported || code == out_of_memory;
}

/// Lets `work` fill in a row. Where the machine cannot do it and `all` was asked for, the row has the reason.
template <class Work>
row attempt(const options& asked, row made, const Work& work) {
    try {
        work(made);
    } catch (const unibuf::error& failure) {
        if (!asked.any_space || !is_about_the_machine(failure.code())) throw;
        made.reason = failure.what();
    }
    return made;
}

std::vector<row> measure(const options& asked, const conv2d::problem& what, const conv2d::viewer& show) {
    const progress line;
    std::vector<row> rows;
    for (const std::string& name : asked.spaces) {
        line.show(name);
        unibuf::space where;
        const row space = attempt(asked, {.space = name}, [&](row&) { where = unibuf::space(name); });
        if (!space.reason.empty()) {
            rows.push_back(space);
            continue;
        }
        for (const conv2d::mode how : asked.modes) {
            line.show(fmt::format("{}: {}", name, to_string(how)));
            rows.push_back(attempt(asked, {.space = name, .how = how},
                                   [&](row& made) { made.found = conv2d::run(where, how, what, asked.repeat, show); }));
        }
    }
    return rows;
}

/// The file is opened before anything is measured, so that one that cannot be written is told at once.
class json_file {
public:
    explicit json_file(std::filesystem::path where) : where_(std::move(where)) {
        if (!where_.empty()) file_.open(where_);
        check();
    }

    void write(const std::vector<row>& rows) {
        if (where_.empty()) return;
        file_ << conv2d::to_json(rows).dump(4) << '\n' << std::flush;
        check();
        fmt::print("table:  {}\n", where_.string());
    }

private:
    void check() const {
        if (!file_) throw std::runtime_error(fmt::format("cannot write {}", where_.string()));
    }

    std::filesystem::path where_;
    std::ofstream file_;
};

void run(const options& asked) {
    const conv2d::picture input = input_of(asked);
    json_file json(asked.json);
    const conv2d::problem what(input, *asked.by);

    conv2d::picture after;
    const std::vector<row> rows = measure(asked, what, [&](std::span<const float> result) {
        if (after.pixels.empty() && !asked.output.empty()) after = visible(result, input.size, *asked.by);
    });
    fmt::print("{}, {}x{}, {}: median of {}\n\n{}\n", asked.picture.filename().string(), input.size.width,
               input.size.height, asked.by->name, asked.repeat, to_table(rows));
    json.write(rows);
    if (asked.output.empty()) return;
    if (after.pixels.empty()) throw std::runtime_error("there is no result to write: nothing could be measured");
    save(input, asked.before());
    save(after, asked.output);
    fmt::print("before: {}\nafter:  {}\n", asked.before().string(), asked.output.string());
}

}  // namespace

int main(int argc, char** argv) {
    int status = 0;
    const auto asked = conv2d::parse(argc, argv, status);
    if (!asked) return status;
    try {
        run(*asked);
    } catch (const std::bad_alloc&) {
        std::fputs("conv2d: there is not enough memory for a picture of this size\n", stderr);
        return 1;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "conv2d: %s\n", failure.what());
        return 1;
    }
    return 0;
}
