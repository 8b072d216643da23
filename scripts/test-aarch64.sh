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
    grep -E '^\[  PASSED|^One logical' "$folder/${program##*/}.log" | sed "s|^|$program: |"
    # GoogleTest says why in the line below each "Skipped".
    awk '/: Skipped$/ { getline; print "    skipped: " $0 }' "$folder/${program##*/}.log" | sort | uniq -c
}
# Under qemu a program cannot run itself once more, and other processes see qemu's times instead of its own.
left_out=an_accelerator.loads_no_driver_but_its_own:tracking.is_off_where_the_environment_says_so
left_out+=:sharing.refuses_every_access_while_the_other_has_newer_content_on_a_device
left_out+=:sharing.brings_back_what_a_device_has_newer_before_the_last_handle_goes
echo "Left out: ${left_out//:/ }"
run tests/unit_tests --gtest_filter="-$left_out"
run tests/fault_tests
run tests/contract_host
run tests/contract_debug
run bin/unibuf --help
exit "$failed"
