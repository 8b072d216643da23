#!/bin/bash
# install-dependencies.sh TIER...: installs the Debian packages that the tiers (demo, test, compilers, wheels, cross, deb, opencl, docs, peers, lint) lack.
# Without root or passwordless sudo it prints the one command to run, and fails.
set -euo pipefail

declare -A packages=(
    [demo]="g++ gfortran fypp make cmake ninja-build ccache libfmt-dev libcli11-dev nlohmann-json3-dev libstb-dev
            libegl1 libegl-mesa0 libgl1-mesa-dri ocl-icd-libopencl1 opencl-c-headers pocl-opencl-icd python-matplotlib-data libjs-chart.js libsqlite3-dev
            libopenmpi-dev openmpi-bin"
    [test]="gcc git python3 python3-dev python3-venv binutils pkg-config libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev libmimalloc-dev
            opencl-clhpp-headers ocl-icd-opencl-dev libgl-dev libegl-dev
            valgrind chromium-headless-shell libmpich-dev mpich abigail-tools xz-utils help2man"
    [compilers]="flang-19"
    [wheels]="zlib1g-dev libffi-dev libssl-dev qemu-user-static musl-tools"
    [cross]="python3 python3-venv googletest llvm-19 qemu-user-static libc6-arm64-cross musl"
    [deb]="debhelper dh-python lintian fakeroot dpkg-dev python3-numpy help2man mmdebstrap"
    [opencl]="mmdebstrap uidmap"
    [docs]="doxygen chromium-headless-shell fonts-dejavu-core"
    [peers]="libopencv-core-dev libtrilinos-kokkos-dev libstarpu-dev"
    [lint]="clang-19 libclang-rt-19-dev llvm-19 clang-format-19 clang-tidy-19 shellcheck"
)

wanted=()
for tier in "$@"; do
    read -rd '' -a names <<<"${packages[$tier]?no such tier}" || true
    wanted+=("${names[@]}")
done

if ! command -v dpkg-query >/dev/null; then
    echo "This is not Debian: make sure that you have what these packages hold: ${wanted[*]}" >&2
    exit 0
fi
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null || true)
missing=()
for package in "${wanted[@]}"; do
    grep -qx "$package installed" <<<"$installed" || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
    if ! sudo -n true 2>/dev/null; then
        echo "Packages are missing. Run this, then try again:" >&2
        echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300)
"${apt[@]}" update
"${apt[@]}" install -y --no-install-recommends "${missing[@]}"
