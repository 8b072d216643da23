// tests/c/denied.h: memory that this thread is denied.
#pragma once

#include <stdbool.h>

/// Lets one allocation of this thread fail, after `n` more have succeeded.
void deny(int n);

/// Returns whether an allocation has failed. From now on none is denied.
bool denied(void);
