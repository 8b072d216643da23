#!/bin/bash
# libraries.sh LIBRARY [OTHER]: it needs the C and C++ runtimes, and OTHER, and nothing else.
set -euo pipefail

needed=$(readelf --dynamic "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
echo "$needed"
if [[ ${2-} ]]; then
    grep -qxF "$2" <<<"$needed"
    needed=$(grep -vxF "$2" <<<"$needed")
fi
! grep -vE '^(libc|libm|libdl|libpthread|libstdc\+\+|libgcc_s|ld-linux-.*)\.so\.[0-9]+$' <<<"$needed"
