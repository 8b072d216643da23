// tests/doubles/pages/pages.c: a system with larger pages, for programs that preload it.
//
// UNIBUF_TEST_PAGE says how large they are. Memory begins at multiples of them, and is as many whole ones. What the
// kernel marks and protects stays 4 KiB.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static size_t page(void) {
    const char* const size = getenv("UNIBUF_TEST_PAGE");
    return size ? (size_t)atol(size) : 65536;
}

long sysconf(int name) {
    long (*real)(int) = NULL;
    *(void**)&real = dlsym(RTLD_NEXT, "sysconf");
    return name == _SC_PAGESIZE ? (long)page() : real(name);
}

static void* map(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
    return (void*)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);  // NOLINT(performance-no-int-to-ptr)
}

void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
    if (at) return map(at, bytes, protection, flags, file, offset);
    const size_t rounded = (bytes + page() - 1) / page() * page();
    const size_t reserved = rounded + page();
    char* const begin = map(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((void*)begin == MAP_FAILED) return MAP_FAILED;
    const size_t before = (page() - (uintptr_t)begin % page()) % page();
    char* const aligned = begin + before;
    if (before != 0) munmap(begin, before);
    if (before != page()) munmap(aligned + rounded, page() - before);
    void* const made = map(aligned, rounded, protection, flags | MAP_FIXED, file, offset);
    if (made == MAP_FAILED) munmap(aligned, rounded);
    return made;
}

void* mmap64(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
    return mmap(at, bytes, protection, flags, file, offset);
}
