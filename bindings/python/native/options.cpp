// options.cpp: what Python says of accesses and buffers, as the library takes it.
#include "options.hpp"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <unibuf/cuda.hpp>
#include <unibuf/detail/sizes.hpp>
#include <unibuf/error.hpp>
#include <utility>

#include "imported.hpp"
#include "without_interpreter.hpp"

namespace unibuf::python {

namespace {

template <class Value, std::size_t Count>
Value choose(const char* what, nb::handle word, const std::array<std::pair<const char*, Value>, Count>& words) {
    std::string wanted;
    const bool is_word = nb::try_cast(word, wanted);
    std::string allowed;
    for (const auto& [name, value] : words) {
        if (is_word && wanted == name) return value;
        allowed += (allowed.empty() ? "'" : ", '") + std::string(name) + "'";
    }
    if (!is_word) throw nb::type_error(nb::str("{} is one of {}; {!r} was given").format(what, allowed, word).c_str());
    throw error(error_code::invalid_argument,
                std::string(what) + " is one of " + allowed + "; '" + wanted + "' was asked for");
}

template <class Value, std::size_t Count>
nb::object word_for(Value value, const std::array<std::pair<const char*, Value>, Count>& words) {
    for (const auto& [name, each] : words) {
        if (each == value) return nb::str(name);
    }
    return nb::none();
}

constexpr std::array<std::pair<const char*, host_access>, 4> accesses{{{"read_write", host_access::read_write},
                                                                       {"read_only", host_access::read_only},
                                                                       {"write_only", host_access::write_only},
                                                                       {"constant", host_access::constant}}};
constexpr std::array<std::pair<const char*, memory_hint>, 4> hints{{{"cpu_preferred", memory_hint::cpu_preferred},
                                                                    {"gpu_preferred", memory_hint::gpu_preferred},
                                                                    {"coherent", memory_hint::coherent},
                                                                    {"streaming", memory_hint::streaming}}};
constexpr std::array<std::pair<const char*, write_tracking>, 2> trackings{
    {{"auto", write_tracking::automatic}, {"off", write_tracking::off}}};

}  // namespace

buffer_options options_of(const option_arguments& given) {
    const auto is_given = [](nb::handle option) { return option.is_valid() && !option.is_none(); };
    buffer_options result;
    if (given.pinned) result.pinned = plain_value<bool>(given.pinned, "pinned is True or False");
    if (given.uninitialized) {
        result.uninitialized = plain_value<bool>(given.uninitialized, "uninitialized is True or False");
    }
    if (given.access) result.access = choose("access", given.access, accesses);
    if (given.tracking) result.tracking = choose("tracking", given.tracking, trackings);
    if (is_given(given.hint)) {
        plain_value<std::string>(given.hint, "a hint is a str, or None for none");
        result.hint = choose("hint", given.hint, hints);
    }
    if (is_given(given.device)) result.device = space_of(given.device);
    return result;
}

nb::dict options_as_dict(const buffer_options& options) {
    nb::dict result;
    result["pinned"] = options.pinned;
    result["access"] = word_for(options.access, accesses);
    result["hint"] = word_for(options.hint, hints);
    result["device"] = options.device ? nb::object(nb::str(options.device->name().c_str())) : nb::none();
    result["tracking"] = word_for(options.tracking, trackings);
    result["uninitialized"] = options.uninitialized;
    return result;
}

namespace {

/// The spaces that were named first, by the objects that named them: a program has few, as constants of its code. The
/// objects are kept.
class named_spaces {
public:
    std::optional<space> find(nb::handle name) const noexcept {
        for (const entry& each : all_) {
            const PyObject* const known = each.name.load(std::memory_order_acquire);
            if (!known) break;
            if (known != name.ptr()) continue;
            const space found = space::from_id(each.id);
            // Another space may have the number by now: see opencl.md, Limits.
            const char* const text = PyUnicode_AsUTF8AndSize(name.ptr(), nullptr);
            if (text && found.name() == text) return found;
            break;
        }
        return std::nullopt;
    }

    void add(nb::handle name, space found) noexcept {
        for (entry& each : all_) {
            if (each.taken.exchange(true, std::memory_order_relaxed)) continue;
            each.id = found.id();
            each.name.store(Py_NewRef(name.ptr()), std::memory_order_release);
            return;
        }
    }

private:
    struct entry {
        std::atomic<bool> taken = false;
        std::atomic<PyObject*> name = nullptr;
        std::uint8_t id = 0;
    };

    std::array<entry, 8> all_;
};

constinit named_spaces known_spaces;

}  // namespace

std::string word_of(nb::handle text) {
    Py_ssize_t size = 0;
    const char* const bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (!bytes) nb::raise_python_error();
    return {bytes, static_cast<std::size_t>(size)};
}

space space_of(nb::handle name) {
    if (const std::optional<space> known = known_spaces.find(name)) return *known;
    if (!name.is_none() && !nb::isinstance<nb::str>(name)) {
        throw nb::type_error(nb::str("a space is named by a str, as 'cuda:0'; {!r} was given").format(name).c_str());
    }
    const std::string wanted = name.is_none() ? "" : word_of(name);
    const space found = unlocked([&] { return name.is_none() ? default_device() : space(wanted); });
    if (PyUnicode_CheckExact(name.ptr())) known_spaces.add(name, found);
    return found;
}

space named_space_of(nb::handle name) {
    if (name.is_none()) throw nb::type_error("a space is named by a str, as 'cuda:0'; None was given");
    return space_of(name);
}

std::string name_of(nb::handle name) {
    if (nb::isinstance<nb::str>(name)) return word_of(name);
    return plain_value<std::string>(name, "the name of a buffer is a str");
}

std::size_t size_of(nb::handle number, const char* what) {
    if (!PyIndex_Check(number.ptr())) {
        throw nb::type_error(nb::str("{} is an int; {!r} was given").format(what, number).c_str());
    }
    const Py_ssize_t result = PyNumber_AsSsize_t(number.ptr(), PyExc_OverflowError);
    if (result == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_OverflowError)) nb::raise_python_error();
        PyErr_Clear();
    }
    if (result < 0) {
        throw error(error_code::invalid_argument,
                    nb::str("{} is not negative and has up to 63 bits; {!r} was given").format(what, number).c_str());
    }
    return static_cast<std::size_t>(result);
}

std::uint64_t limit_of(nb::handle bytes) {
    return bytes.is_none() ? no_memory_limit : size_of(bytes, "a limit is None, or a number of bytes that");
}

std::chrono::nanoseconds timeout_of(nb::handle seconds) {
    if (seconds.is_none()) return forever;
    const auto wanted = plain_value<double>(seconds, "a timeout is a number of seconds, or None for ever");
    if (!(wanted >= 0)) {
        throw error(error_code::invalid_argument, "a timeout is a number of seconds, or None for ever");
    }
    constexpr double longest = 1e9;
    return wanted > longest ? forever : std::chrono::nanoseconds(std::llround(wanted * 1e9));
}

access_options range_of(nb::handle offset, nb::handle count, std::size_t element_bytes) {
    const auto bytes = [&](nb::handle number, const char* what, const char* allowed) {
        if (!PyIndex_Check(number.ptr())) {
            throw nb::type_error(nb::str("{} is {}; {!r} was given").format(what, allowed, number).c_str());
        }
        const Py_ssize_t elements = PyNumber_AsSsize_t(number.ptr(), nullptr);  // what is too large is clamped
        if (elements == -1 && PyErr_Occurred()) nb::raise_python_error();
        if (elements < 0) {
            throw error(error_code::out_of_range,
                        std::string(what) + " is not negative; " + std::to_string(elements) + " was asked for");
        }
        const auto result = detail::product(static_cast<std::size_t>(elements), element_bytes);
        return std::min(result.value_or(rest), rest - 1);  // what cannot be counted lies outside every buffer
    };
    access_options result;
    if (offset) result.offset = bytes(offset, "an offset", "an int");
    if (!count.is_none()) result.count = bytes(count, "a count", "an int, or None for the rest");
    return result;
}

namespace {

/// The classes of other libraries' streams that were given first, and the attribute that has the address. The classes
/// are kept.
class stream_classes {
public:
    /// Returns null for a stream of another class.
    PyObject* attribute_of(nb::handle stream) const noexcept {
        for (const entry& each : all_) {
            const PyObject* const known = each.type.load(std::memory_order_acquire);
            if (!known) break;
            if (known == stream.type().ptr()) return each.attribute;
        }
        return nullptr;
    }

    void add(nb::handle stream) {
        const auto module = nb::cast<std::string>(nb::str(stream.type().attr("__module__")));
        const char* const attribute = module.starts_with("cupy.")    ? "ptr"
                                      : module.starts_with("torch.") ? "cuda_stream"
                                                                     : nullptr;
        if (!attribute || attribute_of(stream)) return;
        for (entry& each : all_) {
            if (each.taken.exchange(true, std::memory_order_relaxed)) continue;
            each.attribute = PyUnicode_InternFromString(attribute);
            if (!each.attribute) nb::raise_python_error();
            each.type.store(Py_NewRef(stream.type().ptr()), std::memory_order_release);
            return;
        }
    }

private:
    struct entry {
        std::atomic<bool> taken = false;
        std::atomic<PyObject*> type = nullptr;
        PyObject* attribute = nullptr;
    };

    std::array<entry, 4> all_;
};

constinit stream_classes known_streams;

}  // namespace

queue queue_of(nb::handle stream, space where) {
    if (stream.is_none()) return {};
    nb::object address;
    if (PyObject* const attribute = known_streams.attribute_of(stream)) {
        address = in_python([&] { return nb::object(stream.attr(nb::handle(attribute))); });
    } else {
        if (const std::string& name = where.name(); name.starts_with("opencl:")) {
            static constinit imported check("unibuf._device_arrays", "check_queue");
            in_python([&] { return check(stream, name); });
        }
        static constinit imported address_of("unibuf._queues", "address_of");
        address = in_python([&] { return address_of(stream); });
        in_python([&] { return known_streams.add(stream), nullptr; });
    }
    return cuda::queue_of(
        reinterpret_cast<CUstream_st*>(plain_value<std::uintptr_t>(address, "a stream has the address of its API")));
}

}  // namespace unibuf::python
