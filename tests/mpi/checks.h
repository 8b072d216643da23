// mpi/checks.h: CHECK(), for tests in C.
#pragma once

#include <stdio.h>

#include "unibuf/unibuf_mpi.h"

static int failures = 0;

#define CHECK(what)                                                             \
    do {                                                                        \
        if (!(what)) {                                                          \
            ++failures;                                                         \
            printf("line %d: %s: %s\n", __LINE__, #what, unibuf_mpi_message()); \
        }                                                                       \
    } while (0)
