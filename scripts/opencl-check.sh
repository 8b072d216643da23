#!/bin/bash
# opencl-check.sh PART...: the suite, random histories and conv2d on other OpenCL implementations than the machine's own:
#   intel      Intel's runtime for processors, from PyPI, alone and beside the machine's own in one process
#   bookworm   rusticl 22 and PoCL 3 of Debian 12, in a Debian of their own
#   trixie     rusticl 25 and PoCL 6 of Debian 13, likewise
#   oclgrind   conv2d, with every access of a kernel checked, in Debian 12
# What they start is in build/release. They take 1, 5, 5 and 3 minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

build=$PWD/build/release
work=$PWD/build/opencl
intel=$work/intel

# fetch_intel: into the folder $intel, with `runtime` for the loader, which leaves out its own libOpenCL, and `icd` and `both`.
fetch_intel() {
    if [[ $(uname -m) != x86_64 ]]; then
        echo "Left out: Intel's runtime, which is for x86-64"
        exit 0
    fi
    if [[ $work == *' '* ]]; then # it finds nothing of its own in a folder with a space
        elsewhere=$(mktemp -d)
        trap 'rm -rf "$elsewhere"' EXIT
        intel=$elsewhere/intel
    fi
    scripts/python-environment.sh "$intel" tests/opencl/intel.txt
    "$intel/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r tests/opencl/intel-parts.txt
    rm -rf "$intel/runtime" "$intel/icd" "$intel/both"
    mkdir "$intel/runtime" "$intel/icd" "$intel/both"
    ln -s "$intel"/lib/*.* "$intel/runtime"
    rm "$intel"/runtime/libOpenCL*
    echo "$intel/runtime/libintelocl.so" | tee "$intel/icd/intel.icd" >"$intel/both/intel.icd"
    find /etc/OpenCL/vendors -name '*.icd' -exec cp {} "$intel/both" ';'
}

# on_intel FOLDER: the tests, on the implementations that the folder names.
on_intel() {
    LD_LIBRARY_PATH=$intel/runtime OCL_ICD_VENDORS=$intel/$1 \
        ctest --test-dir "$build" --build-config opencl_other --label-regex '^opencl_other$' --output-on-failure --no-tests=error
}

# in_debian RELEASE PACKAGES PROGRAM...: runs a command of tests/opencl in a new Debian with these packages. mmdebstrap gives
# hooks the root as $1.
in_debian() {
    local programs=$work/$1/programs
    scripts/install-dependencies.sh opencl
    rm -rf "$programs"
    mkdir -p "$programs"
    cp "$build"/tests/contract_opencl "$build"/tests/unit_tests "$build"/examples/conv2d "$build"/libunibuf.so.* \
        examples/conv2d/picture.png tests/opencl/*.sh "$programs"
    # shellcheck disable=SC2016
    mmdebstrap --variant=minbase --include="$2,ocl-icd-libopencl1,libstdc++6" --customize-hook="copy-in '$programs' /root" \
        --customize-hook="chroot \"\$1\" bash /root/programs/$3" "$1" /dev/null
}

cmake --preset release >/dev/null
cmake --build --preset release --target contract_opencl unit_tests conv2d
for part in "${@:-intel}"; do
    case $part in
        intel)
            fetch_intel
            on_intel icd
            on_intel both
            ;;
        bookworm) in_debian bookworm mesa-opencl-icd,libclc-15,pocl-opencl-icd in_debian.sh ;;
        trixie) in_debian trixie mesa-opencl-icd,pocl-opencl-icd in_debian.sh ;;
        oclgrind) in_debian bookworm oclgrind in_oclgrind.sh ;;
        *)
            echo "opencl-check.sh: $part is none of intel, bookworm, trixie, oclgrind" >&2
            exit 2
            ;;
    esac
done
