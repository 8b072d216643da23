// bench/cost/sizes.cpp: unibuf_cost_sizes, which prints what was built, how large the types are that programs hold, and
// what the heap gives for a buffer.
#include <gnu/libc-version.h>
#include <unibuf/unibuf.h>

#include <cstddef>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <unibuf/unibuf.hpp>

#include "../heap.hpp"

namespace {

/// Returns what the heap gives for one buffer, the contents of its copies left out.
std::ptrdiff_t heap_bytes(bool has_copies) {
    const std::ptrdiff_t before = bench::heap_bytes();
    unibuf::buffer buffer(bench::contents);
    if (has_copies) {
        buffer.write(unibuf::host).data();
        buffer.read("debug:0").data();
    }
    return bench::heap_bytes() - before;
}

void print_sizes() {
    heap_bytes(true);  // what is set up once in a process is not counted as a buffer's
    const nlohmann::ordered_json found = {{"compiler", UNIBUF_COMPILER},
                                          {"build", UNIBUF_BUILD_TYPE},
                                          {"glibc", ::gnu_get_libc_version()},
                                          {"bytes",
                                           {{"heap.buffer", heap_bytes(false)},
                                            {"heap.buffer.two_copies", heap_bytes(true)},
                                            {"sizeof.batch", sizeof(unibuf::batch)},
                                            {"sizeof.buffer", sizeof(unibuf::buffer)},
                                            {"sizeof.unified_buffer", sizeof(unibuf::unified_buffer<float>)},
                                            {"sizeof.lease", sizeof(unibuf::lease<float>)},
                                            {"sizeof.host_view", sizeof(unibuf::host_view<float>)},
                                            {"sizeof.copy_view", sizeof(unibuf::copy_view)},
                                            {"sizeof.rectangle", sizeof(unibuf::rectangle<float>)},
                                            {"sizeof.standing_hold", sizeof(unibuf::standing_hold)},
                                            {"sizeof.memory_pool", sizeof(unibuf::memory_pool)},
                                            {"sizeof.pooled", sizeof(unibuf::pooled<float>)},
                                            {"sizeof.fence", sizeof(unibuf::fence)},
                                            {"sizeof.space", sizeof(unibuf::space)},
                                            {"sizeof.native_memory", sizeof(unibuf::native_memory)},
                                            {"sizeof.access_options", sizeof(unibuf::access_options)},
                                            {"sizeof.buffer_options", sizeof(unibuf::buffer_options)},
                                            {"sizeof.unibuf_lease", sizeof(unibuf_lease)},
                                            {"sizeof.unibuf_native", sizeof(unibuf_native)}}}};
    std::printf("%s\n", found.dump(4).c_str());
}

}  // namespace

int main() {
    try {
        print_sizes();
        return 0;
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
}
