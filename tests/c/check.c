// check.c
#include "check.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int checks;
static int before;

_Noreturn static void fail(const char* file, int line) {
    fprintf(stderr, "%s:%d: the last failure was: %s\n", file, line, unibuf_message());
    exit(1);
}

void check_that(bool holds, const char* what, const char* file, int line) {
    ++checks;
    if (holds) return;
    fprintf(stderr, "%s:%d: this does not hold: %s\n", file, line, what);
    fail(file, line);
}

void check_status(unibuf_status wanted, unibuf_status found, const char* call, const char* file, int line) {
    ++checks;
    if (found == wanted) return;
    fprintf(stderr, "%s:%d: %s is %s, and should be %s\n", file, line, call, unibuf_status_name(found),
            unibuf_status_name(wanted));
    fail(file, line);
}

void check_refused(unibuf_status wanted, const char* part, unibuf_status found, const char* call, const char* file,
                   int line) {
    check_status(wanted, found, call, file, line);
    if (strstr(unibuf_message(), part)) return;
    fprintf(stderr, "%s:%d: the message of %s does not say '%s'\n", file, line, call, part);
    fail(file, line);
}

void check_begin(void) { before = checks; }

void check_end(const char* call) {
    printf("%s: %d checks\n", call, checks - before);
    fflush(stdout);
}

_Noreturn void skip(const char* reason) {
    printf("SKIP: %s\n", reason);
    exit(77);
}
