// common/arguments.hpp: what a program is told on its command line. CLI11 reads it, in one file: to compile that takes
// longer than an example.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace examples {

/// Options are variables, which keep what they hold where they are not given.
class arguments {
public:
    explicit arguments(const std::string& about);
    arguments(const arguments&) = delete;
    arguments& operator=(const arguments&) = delete;
    ~arguments();

    void flag(const std::string& name, bool& value, const std::string& about = {});

    template <std::integral T>
    void number(const std::string& name, T& value, std::int64_t least, std::int64_t most,
                const std::string& about = {}) {
        number(name, std::to_string(value), least, most, about,
               [&value](std::int64_t given) { value = static_cast<T>(given); });
    }
    void number(const std::string& name, std::optional<std::uint64_t>& value, const std::string& about);

    /// `form` is what help shows in the place of a value; `fault_of` says what is wrong with one, or nothing.
    void text(const std::string& name, std::string& value, const std::string& about, const std::string& form = "TEXT",
              std::function<std::string(const std::string&)> fault_of = {});
    void required_text(const std::string& name, std::string& value, const std::string& about, const std::string& form);
    void choice(const std::string& name, std::string& value, const std::vector<std::string>& of,
                const std::string& about);

    /// Reads them. Returns the status to end with where help was asked for, or something that is not allowed: it has
    /// been said then.
    std::optional<int> read(int argc, const char* const* argv);

private:
    void number(const std::string& name, const std::string& usual, std::int64_t least, std::int64_t most,
                const std::string& about, std::function<void(std::int64_t)> take);

    struct parser;
    std::unique_ptr<parser> parser_;
};

}  // namespace examples
