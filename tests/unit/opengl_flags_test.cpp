// tests/unit/opengl_flags_test.cpp: the flags of shared OpenGL memory, over the whole table; and whose driver it is.
#include "backends/opengl/flags.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "backends/opengl/api.hpp"

namespace unibuf::backends::opengl_flags_test {
namespace {

constexpr std::array vendors{gl_vendor::amd, gl_vendor::intel, gl_vendor::nvidia, gl_vendor::other};
constexpr std::array accesses{host_access::read_write, host_access::read_only, host_access::write_only};
constexpr std::array hints{memory_hint::none, memory_hint::cpu_preferred, memory_hint::gpu_preferred,
                           memory_hint::coherent, memory_hint::streaming};

struct entry {
    gl_vendor vendor;
    host_access access;
    memory_hint hint;
    gl_mapping how;

    bool storage(unsigned flag) const { return (how.storage & flag) != 0; }
    bool map(unsigned flag) const { return (how.map & flag) != 0; }
};

void for_each_entry(const std::function<void(const entry&)>& check) {
    for (const gl_vendor vendor : vendors) {
        for (const host_access access : accesses) {
            for (const memory_hint hint : hints) {
                SCOPED_TRACE(::testing::Message() << "vendor " << static_cast<int>(vendor) << ", access "
                                                  << static_cast<int>(access) << ", hint " << static_cast<int>(hint));
                check({vendor, access, hint, mapping_for(vendor, access, hint)});
            }
        }
    }
}

TEST(opengl_flags, follow_the_rules_of_opengl) {
    for_each_entry([](const entry& of) {
        const unsigned map_flags_of_storage = gl::map_read | gl::map_write | gl::map_persistent | gl::map_coherent;
        EXPECT_EQ(of.how.map & map_flags_of_storage, of.how.storage & map_flags_of_storage);
        EXPECT_EQ(of.how.map & ~(map_flags_of_storage | gl::map_flush_explicit), 0u);
        EXPECT_EQ(of.how.storage & ~(map_flags_of_storage | gl::client_storage), 0u);

        EXPECT_TRUE(of.storage(gl::map_persistent));
        EXPECT_TRUE(of.storage(gl::map_read) || of.storage(gl::map_write));
        EXPECT_FALSE(of.storage(gl::map_flush_explicit));
        if (of.map(gl::map_flush_explicit)) {
            EXPECT_TRUE(of.map(gl::map_write));
        }
    });
}

TEST(opengl_flags, give_the_host_what_it_does_and_no_more) {
    for_each_entry([](const entry& of) {
        EXPECT_EQ(of.map(gl::map_read), of.access != host_access::write_only);
        EXPECT_EQ(of.map(gl::map_write), of.access != host_access::read_only);
    });
}

TEST(opengl_flags, flush_exactly_what_is_not_coherent_and_written) {
    for_each_entry([](const entry& of) {
        EXPECT_EQ(of.how.explicit_flush, of.map(gl::map_flush_explicit));
        EXPECT_EQ(of.how.explicit_flush, of.map(gl::map_write) && !of.map(gl::map_coherent));
        if (of.hint == memory_hint::coherent) {
            EXPECT_TRUE(of.map(gl::map_coherent));
        }
        EXPECT_FALSE(of.how.description.empty());
    });
}

TEST(opengl_flags, keep_in_the_hosts_memory_what_the_host_reads) {
    for_each_entry([](const entry& of) {
        const bool asked = of.hint == memory_hint::cpu_preferred;
        EXPECT_EQ(of.storage(gl::client_storage), asked || of.access != host_access::write_only);
    });
}

TEST(opengl_flags, amd_uploads_are_write_combined) {
    const gl_mapping how = mapping_for(gl_vendor::amd, host_access::write_only, memory_hint::streaming);
    EXPECT_EQ(how.storage, gl::map_write | gl::map_persistent | gl::map_coherent);
    EXPECT_EQ(how.map, how.storage);
    EXPECT_EQ(how.description, "to write, write-combined, coherent");
}

TEST(opengl_flags, intel_and_the_unknown_are_coherent_everywhere) {
    for_each_entry([](const entry& of) {
        if (of.vendor == gl_vendor::nvidia) return;
        EXPECT_TRUE(of.map(gl::map_coherent));
        EXPECT_FALSE(of.how.explicit_flush);
    });
}

TEST(opengl_flags, nvidia_is_told_what_the_host_wrote) {
    for (const host_access access : {host_access::read_write, host_access::write_only}) {
        const gl_mapping how = mapping_for(gl_vendor::nvidia, access, memory_hint::none);
        EXPECT_TRUE(how.explicit_flush);
        EXPECT_EQ(how.storage & gl::map_coherent, 0u);
        EXPECT_TRUE(how.description.ends_with(", explicit flush")) << how.description;
    }
}

TEST(opengl_flags, nvidia_output_is_cached) {
    const gl_mapping how = mapping_for(gl_vendor::nvidia, host_access::read_only, memory_hint::none);
    EXPECT_EQ(how.storage, gl::map_read | gl::map_persistent | gl::client_storage);
    EXPECT_EQ(how.map, gl::map_read | gl::map_persistent);
    EXPECT_FALSE(how.explicit_flush);
}

struct known_driver {
    const char* vendor;
    const char* renderer;
    gl_platform platform;
};

TEST(opengl_platform, is_known_by_what_drivers_say) {
    using enum gl_vendor;
    const std::array drivers{
        known_driver{"NVIDIA Corporation", "NVIDIA GeForce RTX 4090/PCIe/SSE2", {nvidia, true, false}},
        known_driver{"NVIDIA Corporation", "NVIDIA Tegra Orin (nvgpu)/integrated", {nvidia, false, false}},
        known_driver{"nouveau", "NV134", {other, true, false}},
        known_driver{"AMD", "AMD Radeon RX 7900 XTX (radeonsi, navi31, LLVM 17.0.6, DRM 3.57)", {amd, true, false}},
        known_driver{"X.Org", "AMD Radeon RX 580 (POLARIS10, DRM 3.40.0, LLVM 11.0.1)", {amd, true, false}},
        known_driver{"ATI Technologies Inc.", "AMD Radeon Pro W5500", {amd, true, false}},
        known_driver{"Intel", "Mesa Intel(R) UHD Graphics 620 (KBL GT2)", {intel, false, false}},
        known_driver{"Intel Open Source Technology Center", "Mesa DRI Intel(R) HD Graphics 530", {intel, false, false}},
        known_driver{"Intel", "Mesa Intel(R) Arc(tm) Graphics (MTL)", {intel, false, false}},
        known_driver{"Intel", "Mesa Intel(R) Arc(tm) A770 Graphics (DG2)", {intel, true, false}},
        known_driver{"Mesa/X.org", "llvmpipe (LLVM 15.0.6, 256 bits)", {other, false, true}},
        known_driver{"Mesa", "llvmpipe (LLVM 19.1.7, 256 bits)", {other, false, true}},
        known_driver{"Mesa", "softpipe", {other, false, true}},
        known_driver{"Mesa", "zink Vulkan 1.3(llvmpipe (LLVM 17.0.6, 256 bits) (MESA_LLVMPIPE))", {other, false, true}},
        known_driver{"Mesa", "zink Vulkan 1.3(NVIDIA GeForce RTX 3080 (NVIDIA_PROPRIETARY))", {other, true, false}},
        known_driver{"Microsoft Corporation", "D3D12 (NVIDIA GeForce RTX 3070)", {other, true, false}},
        known_driver{"Broadcom", "V3D 4.2", {other, false, false}},
        known_driver{"Mesa", "Apple M1 (G13G B1)", {other, false, false}},
        known_driver{"", "", {other, true, false}},
    };
    for (const known_driver& each : drivers) {
        const gl_platform found = platform_of(each.vendor, each.renderer);
        EXPECT_EQ(found.vendor, each.platform.vendor) << each.renderer;
        EXPECT_EQ(found.own_memory, each.platform.own_memory) << each.renderer;
        EXPECT_EQ(found.software, each.platform.software) << each.renderer;
    }
}

TEST(opengl_flags, a_maker_has_a_name) {
    EXPECT_EQ(vendor_named("nvidia"), gl_vendor::nvidia);
    EXPECT_EQ(vendor_named("amd"), gl_vendor::amd);
    EXPECT_EQ(vendor_named("intel"), gl_vendor::intel);
    EXPECT_EQ(vendor_named("other"), gl_vendor::other);
    EXPECT_EQ(vendor_named("Nvidia"), std::nullopt);
}

}  // namespace
}  // namespace unibuf::backends::opengl_flags_test
