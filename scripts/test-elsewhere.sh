#!/bin/bash
# test-elsewhere.sh FOLDER [LAUNCHER...]: runs the tests of a build for another C library or processor, by the launcher, such as
# qemu, where one is named. LEFT_OUT names tests that cannot run so, as GoogleTest's filter has them.
set -euo pipefail

folder=$1
shift
launcher=("$@")
left_out=${LEFT_OUT:-}
failed=0

# run PROGRAM [ARGUMENT...]
run() {
    local program=$1
    shift
    local log=$folder/${program##*/}.log
    if ! "${launcher[@]}" "$folder/$program" "$@" >"$log" 2>&1; then
        echo "$program has failed:"
        grep -A 6 -E 'Failure|FAILED' "$log" | tail -n 40 || tail -n 40 "$log"
        failed=1
        return
    fi
    grep -E '^\[  PASSED|^One logical' "$log" | sed "s|^|$program: |"
    # GoogleTest says why in the line below each "Skipped".
    awk '/: Skipped$/ { getline; print "    skipped: " $0 }' "$log" | sort | uniq -c
}

if [[ -n $left_out ]]; then echo "Left out: ${left_out//:/ }"; fi
run tests/unit_tests --gtest_filter="-$left_out"
run tests/fault_tests
run tests/contract_host
run tests/contract_debug
run bin/unibuf --help
exit "$failed"
