// support/other_process.hpp: a second process, which does what a test asks of it, step by step.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace unibuf::test {

/// A process that is forked off when this is made. It knows what the test had by then, and the text that each step is
/// given.
class other_process {
public:
    using step = std::function<int(const std::string& text)>;

    explicit other_process(const std::vector<step>& steps) {
        if (::pipe(asked_.data()) != 0 || ::pipe(answered_.data()) != 0) std::abort();
        number_ = ::fork();
        if (number_ != 0) return;
        ::close(asked_[1]);
        for (const step& each : steps) {
            std::array<char, 100> text{};
            if (::read(asked_[0], text.data(), text.size()) <= 0) ::_exit(0);
            const int answer = answer_of(each, text.data());
            if (::write(answered_[1], &answer, sizeof answer) != sizeof answer) ::_exit(1);
        }
        char none = 0;
        [[maybe_unused]] const auto ended = ::read(asked_[0], &none, 1);
        ::_exit(0);
    }

    ~other_process() {
        ::close(asked_[1]);
        kill();
        for (const int each : {asked_[0], answered_[0], answered_[1]}) ::close(each);
    }
    other_process(const other_process&) = delete;
    other_process& operator=(const other_process&) = delete;

    /// Lets the process do its next step. Returns what the step answers, or `failed` where it throws.
    int next(const std::string& text = "-") {
        std::array<char, 100> sent{};
        text.copy(sent.data(), sent.size() - 1);
        int answer = failed;
        if (::write(asked_[1], sent.data(), sent.size()) != static_cast<ssize_t>(sent.size())) return failed;
        return ::read(answered_[0], &answer, sizeof answer) == sizeof answer ? answer : failed;
    }

    void kill() {
        if (number_ <= 0) return;
        ::kill(number_, SIGKILL);
        ::waitpid(std::exchange(number_, 0), nullptr, 0);
    }

    std::string number() const { return std::to_string(number_); }

    static constexpr int failed = -1;

private:
    static int answer_of(const step& each, const char* text) {
        try {
            return each(text);
        } catch (const std::exception& failure) {
            std::fprintf(stderr, "the other process: %s\n", failure.what());
            return failed;
        }
    }

    std::array<int, 2> asked_{};
    std::array<int, 2> answered_{};
    pid_t number_ = 0;
};

}  // namespace unibuf::test
