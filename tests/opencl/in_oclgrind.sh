#!/bin/bash
# in_oclgrind.sh: conv2d in Oclgrind, which looks at each access of a kernel, and at each call of OpenCL.
set -euo pipefail
cd "$(dirname "$0")"
export LD_LIBRARY_PATH=$PWD OCL_ICD_VENDORS=$PWD/oclgrind.icd
echo /usr/lib/oclgrind/liboclgrind-rt-icd.so >oclgrind.icd # it stands before a program's libOpenCL, which unibuf loads itself

# It calls memory of the host that a device uses in place uninitialized, so only what is copied is looked at for that.
for mode in copying careful; do
    oclgrind --uninitialized --data-races --check-api --max-errors 3 --log oclgrind.log \
        ./conv2d --picture picture.png --size 96x64 --repeat 1 --space opencl:0 --mode "$mode"
    [[ ! -s oclgrind.log ]] || { cat oclgrind.log && exit 1; }
done
