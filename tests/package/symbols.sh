#!/bin/bash
# symbols.sh LIBRARY: it exports unibuf, and nothing else.
set -euo pipefail

exported=$(nm --dynamic --defined-only --format=posix --without-symbol-versions "$1" |
    grep -v "^UNIBUF_[0-9.]* A " | cut -d' ' -f1 | c++filt)
echo "$(wc -l <<<"$exported") symbols"
grep -q '^unibuf::' <<<"$exported"
! grep -vE '^((typeinfo|typeinfo name|vtable) for )?unibuf(::|_)' <<<"$exported"
