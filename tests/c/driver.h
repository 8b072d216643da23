// tests/c/driver.h: functions of drivers that these programs call themselves, loaded as unibuf loads them.
#pragma once

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

/// ISO C has no conversion from a pointer to data to one to a function; POSIX lets the bytes be the same.
static inline void set_function(void* at, void* found) {
    CHECK(found != NULL);
    memcpy(at, &found, sizeof found);
}

static inline void* load(const char* library) {
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    CHECK(handle != NULL);
    return handle;
}

#define FUNCTION(library, name) set_function((void*)&(name), dlsym((library), #name))
