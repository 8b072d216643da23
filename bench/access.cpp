// bench/access.cpp: raw access to a copy that is current.
#include <unibuf/unibuf.hpp>

#include <utility>

#include "default_device.hpp"
#include "race.hpp"

namespace bench::access_bench {
namespace {

using benchmark::DoNotOptimize;
using unibuf::unified_buffer;

constexpr std::size_t elements = 1024;

/// Measures an access against a pointer that is simply there.
template <class Access>
bench::figures access_against_load(const Access& access) {
    static float content = 0;
    float* volatile pointer = &content;
    return bench::in_ns(bench::race(bench::repeat(access), bench::repeat([&pointer] {
                                        float* const loaded = pointer;
                                        DoNotOptimize(loaded);
                                    })));
}

bench::figures host_pointer() {
    unified_buffer<float> buffer(elements);
    buffer.host();
    return access_against_load([&buffer] { DoNotOptimize(buffer.host()); });
}

bench::figures host_pointer_to_read() {
    unified_buffer<float> buffer(elements);
    buffer.fill(1);
    const unified_buffer<float>& to_read = buffer;
    return access_against_load([&to_read] { DoNotOptimize(to_read.host()); });
}

bench::figures device_handle() {
    const bench::default_device debug("debug:0");
    unified_buffer<float> buffer(elements);
    buffer.fill(1);
    buffer.sync_to_device();
    return access_against_load([&buffer] { DoNotOptimize(buffer.device().handle); });
}

const bench::declared current(
    {.name = "access.current",
     .unit = "ns",
     .goal = bench::at_most(2),
     .cases = {{"host()", host_pointer}, {"host() const", host_pointer_to_read}, {"device()", device_handle}}});

}  // namespace
}  // namespace bench::access_bench
