#!/bin/bash
# libraries.sh LIBRARY: it needs the C and C++ runtimes, and nothing else.
set -euo pipefail

needed=$(readelf --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
echo "$needed"
! grep -vE '^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|ld-linux-.*)\.so\.[0-9]+$' <<<"$needed"
