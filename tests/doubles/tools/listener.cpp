// tests/doubles/tools/listener.cpp: a test double of tools that listen to programs: it prints what it is told. It has
// the functions of a tool for Kokkos, and those of NVTX.
#include <cstdint>
#include <cstdio>

struct Kokkos_Profiling_SpaceHandle {
    char name[64];
};

using space_handle = Kokkos_Profiling_SpaceHandle;

extern "C" {

#define TOLD __attribute__((visibility("default")))

TOLD void kokkosp_init_library(int number, std::uint64_t version, std::uint32_t devices, void*) {
    std::fprintf(stderr, "init %d, %d, %u\n", number, version >= 20200625, devices);
}

TOLD void kokkosp_finalize_library() { std::fputs("finalize\n", stderr); }

TOLD void kokkosp_begin_deep_copy(space_handle to, const char* to_name, const void* target, space_handle from,
                                  const char* from_name, const void* source, std::uint64_t bytes) {
    std::fprintf(stderr, "begin %s (%s) <- %s (%s): %llu, %d\n", to.name, to_name, from.name, from_name,
                 static_cast<unsigned long long>(bytes), target && source && target != source);
}

TOLD void kokkosp_end_deep_copy() { std::fputs("end\n", stderr); }

TOLD void kokkosp_allocate_data(space_handle where, const char* name, const void* at, std::uint64_t bytes) {
    std::fprintf(stderr, "allocate %s (%s): %llu, %d\n", where.name, name, static_cast<unsigned long long>(bytes),
                 at != nullptr);
}

TOLD void kokkosp_deallocate_data(space_handle where, const char* name, const void*, std::uint64_t bytes) {
    std::fprintf(stderr, "free %s (%s): %llu\n", where.name, name, static_cast<unsigned long long>(bytes));
}

TOLD int nvtxRangePushA(const char* text) {
    std::fprintf(stderr, "push %s\n", text);
    return 0;
}

TOLD int nvtxRangePop() {
    std::fputs("pop\n", stderr);
    return 0;
}
}
