#!/bin/bash
# test-aarch64.sh FOLDER: runs the tests of a build for Linux on 64-bit ARM, under qemu.
set -euo pipefail

folder=$1
export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
failed=0
# run PROGRAM [ARGUMENT...]
run() {
    local program=$1
    shift
    if ! qemu-aarch64-static "$folder/$program" "$@" >"$folder/${program##*/}.log" 2>&1; then
        echo "$program has failed:"
        tail -40 "$folder/${program##*/}.log"
        failed=1
        return
    fi
    echo "$program: $(grep -E '^\[  PASSED|tests? ran|^One logical' "$folder/${program##*/}.log" | tail -1)"
}
run tests/unit_tests
run tests/fault_tests
run tests/contract_host
run tests/contract_debug
run bin/unibuf --help
exit "$failed"
