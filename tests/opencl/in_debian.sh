#!/bin/bash
# in_debian.sh: what make opencl-check runs on each OpenCL implementation of a Debian of its own, and then on all in one process.
set -euo pipefail
cd "$(dirname "$0")"
export RUSTICL_ENABLE=llvmpipe LD_LIBRARY_PATH=$PWD

# check: the suite, histories, the devices of all platforms, conv2d
check() {
    ./contract_opencl --gtest_brief=1
    ./unit_tests --gtest_brief=1 --gtest_filter='*a_history*opencl*'
    ./conv2d --picture picture.png --size 512x400 --repeat 2 --space "$1"
}

for icd in /etc/OpenCL/vendors/*.icd; do
    [[ $icd != */mesa.icd ]] || continue # Clover, which has no device
    echo "== $icd"
    OCL_ICD_VENDORS=$icd check opencl:0
done
echo "== all in one process"
check all
