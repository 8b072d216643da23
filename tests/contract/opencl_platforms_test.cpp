// tests/contract/opencl_platforms_test.cpp: devices of all platforms that are here work on one buffer.
#include <algorithm>
#include <vector>

#include "contract/opencl_fixture.hpp"

namespace unibuf::contract {
namespace {

class opencl_platforms : public on_opencl {
protected:
    /// Returns opencl:0, opencl:1 and so on.
    static std::vector<space> all() {
        std::vector<space> result;
        for (const device_info& each : devices()) {
            if (each.available && each.name.starts_with("opencl:")) result.emplace_back(each.name);
        }
        return result;
    }
};

TEST_F(opencl_platforms, hand_content_to_each_other) {
    constexpr std::size_t size = 70000;  // 100 rows of 700
    for (const memory_hint hint : {memory_hint::none, memory_hint::gpu_preferred}) {
        for (const space from : all()) {
            for (const space to : all()) {
                buffer passed(size, {.hint = hint, .device = from});
                bytes content = noise(size);
                passed.copy_from(content);
                buffer part = passed.view(1000, 4096);
                std::fill_n(content.begin() + 1000, 4096, std::byte{7});
                part.fill(bytes(1, std::byte{7}), from);
                passed.read(to).release();
                bytes got(size);
                passed.copy_to(got, to);
                EXPECT_TRUE(same(got, content)) << from.name() << " to " << to.name();
                buffer rows = passed.view(shape{100, 700}, 1, std::vector<slice>{{10, 30}, {5, 500}});
                for (std::size_t y = 10; y < 30; ++y) {
                    std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(700 * y + 5), 495, std::byte{9});
                }
                rows.fill(bytes(1, std::byte{9}), to);
                passed.copy_to(got, from);
                EXPECT_TRUE(same(got, content)) << to.name() << " back to " << from.name();
                passed.copy_to(got);
                EXPECT_TRUE(same(got, content)) << from.name() << " and " << to.name() << ", at the host";
            }
        }
    }
}

}  // namespace
}  // namespace unibuf::contract
