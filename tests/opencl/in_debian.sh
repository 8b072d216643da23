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

# says_why ICD REASON: a platform without a device is named, with what would help.
says_why() {
    OCL_ICD_VENDORS=/etc/OpenCL/vendors/$1 ./contract_opencl --gtest_filter='*gives_its_own_handles*' | grep -F "$2"
}

for icd in /etc/OpenCL/vendors/*.icd; do
    case $icd in
        */mesa.icd)
            says_why mesa.icd 'Clover has no device'
            continue
            ;;
        */rusticl.icd) RUSTICL_ENABLE='' says_why rusticl.icd 'rusticl has no device: RUSTICL_ENABLE names the drivers' ;;
    esac
    echo "== $icd"
    OCL_ICD_VENDORS=$icd check opencl:0
done
echo "== all in one process"
check all
