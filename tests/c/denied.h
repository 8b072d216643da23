// tests/c/denied.h: memory that this thread is denied.
#pragma once

#include <stdbool.h>

/// After `n` more allocations the next one fails, once.
void deny(int n);

/// Whether it has; from now on none is denied.
bool denied(void);
