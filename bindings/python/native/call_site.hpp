// call_site.hpp: where a Python program called the library, for traces.
#pragma once

#include <cstdint>
#include <optional>
#include <unibuf/trace.hpp>

namespace unibuf::python {

/// While this lives, the events of the thread are those of the line of Python that is running. It is made with the
/// interpreter's lock, and costs nothing but a look where no trace is being written.
class called_from_python {
public:
    called_from_python() {
        if (is_tracing()) before_ = call_from(site_of_line());
    }
    ~called_from_python() {
        if (before_) call_from(*before_);
    }
    called_from_python(const called_from_python&) = delete;
    called_from_python& operator=(const called_from_python&) = delete;

    static std::uint64_t site_of_line();

private:
    std::optional<std::uint64_t> before_;
};

/// While this lives, the thread works for a line elsewhere, which is that of its events where no line of the program
/// runs on the thread itself.
class working_for {
public:
    explicit working_for(std::uint64_t site) noexcept;
    ~working_for();
    working_for(const working_for&) = delete;
    working_for& operator=(const working_for&) = delete;

private:
    std::uint64_t before_;
};

}  // namespace unibuf::python
