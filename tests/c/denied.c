// denied.c: malloc in the place of the C library's, which C++ allocates by, too.
#include "denied.h"

#include <errno.h>
#include <stddef.h>

void* __libc_malloc(size_t size);  // the malloc of glibc itself
__attribute__((visibility("default"))) void* malloc(size_t size);

static _Thread_local int left = -1;  // allocations before one fails; below 0 where none is to fail

void deny(int n) { left = n; }

bool denied(void) {
    const bool has_failed = left < 0;
    left = -1;
    return has_failed;
}

void* malloc(size_t size) {
    if (left < 0 || left-- > 0) return __libc_malloc(size);
    errno = ENOMEM;
    return NULL;
}
