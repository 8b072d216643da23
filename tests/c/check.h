// tests/c/check.h: checks for programs in C. The first that fails ends the program, with 1 and what was expected.
#pragma once

#include <stdbool.h>
#include <unibuf/unibuf.h>

#define CHECK(what) check_that((what), #what, __FILE__, __LINE__)
#define CHECK_STATUS(wanted, call) check_status((wanted), (call), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_STATUS(UNIBUF_OK, call)

/// Checks that the call fails with the status `wanted`, and that the message contains `part`.
#define CHECK_REFUSED(wanted, part, call) check_refused((wanted), (part), (call), #call, __FILE__, __LINE__)

/// Makes the call, and prints it with how much it checked.
#define RUN(call) (check_begin(), call, check_end(#call))

void check_that(bool holds, const char* what, const char* file, int line);
void check_status(unibuf_status wanted, unibuf_status found, const char* call, const char* file, int line);
void check_refused(unibuf_status wanted, const char* part, unibuf_status found, const char* call, const char* file,
                   int line);

void check_begin(void);
void check_end(const char* call);

/// Ends the program as one that could not be run here; CTest and scripts/test-summary.py look for both.
_Noreturn void skip(const char* reason);
