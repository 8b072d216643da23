#!/bin/bash
# soname.sh VERSION LIBRARY...: the SONAME, and the version of every symbol, are what the CMake package calls compatible: the
# minor version until 1.0, the major one after.
set -euo pipefail

version=$1
compatible=${version%%.*}
if [[ $compatible == 0 ]]; then compatible=${version%.*}; fi

for library in "${@:2}"; do
    name=$(basename "$library")
    echo "$name: $compatible"
    readelf --dynamic "$library" | grep -qF "Library soname: [${name%%.so*}.so.$compatible]"
    ! nm --dynamic --defined-only --format=posix "$library" | cut -d' ' -f1 |
        grep -vxE ".+@@UNIBUF_$compatible|UNIBUF_$compatible" || exit 1
done
