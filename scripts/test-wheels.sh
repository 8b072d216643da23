#!/bin/bash
# test-wheels.sh FOLDER: installs each wheel of this processor in an environment where nothing else is, without a
# compiler, and runs the tests there. Those of the other processor are imported by a Python under qemu, those for musl by
# one that is compiled for it, and do what a first program does.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/debian.sh

folder=$(realpath "$1")
work=$folder/work

smoke='
import sys, unibuf
from unibuf import UnifiedBuffer
unibuf.set_default_device("debug:0")
buffer = UnifiedBuffer((1000,))
kept = buffer.host
kept[:] = 2
assert buffer.device.sum() == 2000
kept[3] = 5
assert buffer.device.sum() == 2003 and unibuf.default_device() == "debug:0"
try:
    unibuf.set_default_device("cuda:0")
except unibuf.DeviceUnavailableError:
    pass
print(unibuf.__version__, "works in", sys.version.split()[0], "for", sys.implementation._multiarch)
'

# wheel_of TAG PLATFORM: the one wheel in the folder.
wheel_of() {
    compgen -G "$folder/*-$1-$2*.whl" || { echo "There is no wheel for $1 on $2 in $folder: make wheels" >&2; exit 1; }
}

# site NUMBER PLATFORM WHEEL: a folder with the wheel and the NumPy that PyPI has for that Python on that platform.
site() {
    local number=$1 platform=$2 wheel=$3 at=$work/site-$1-$2
    rm -rf "$at"
    build/wheel-tools/bin/python -m pip install --quiet --target "$at" --no-deps --only-binary :all: \
        --python-version "$number" --platform "$platform" "$(grep '^numpy' tests/python/requirements.txt)" "$wheel" >&2
    echo "$at"
}

for version in 3.11 3.13 3.14t; do
    tag=cp${version/./}
    if [[ $version == 3.13 ]]; then tag=cp312-abi3; fi
    wheel=$(wheel_of "$tag" "manylinux*_x86_64")
    echo "== $wheel"
    scripts/test-python.sh "$version" --wheel "$wheel"
done

# By the loader of a newer musl than that of Debian 12, as NumPy's wheels need it.
root=$work/root-musl
[[ -d $root/usr ]] || unpack_packages "$root" trixie amd64 musl >"$root.log" 2>&1
wheel=$(wheel_of cp312-abi3 "musllinux*_x86_64")
echo "== $wheel"
path=$(site 3.13 musllinux_1_2_x86_64 "$wheel")
PYTHONPATH=$path "$root/usr/lib/x86_64-linux-musl/libc.so" \
    "$(scripts/python-interpreter.sh 3.13-musl build/pythons)" -c "$smoke"

root=$work/root-arm64
[[ -d $root/usr ]] || unpack_packages "$root" trixie arm64 python3.13 libstdc++6 >"$root.log" 2>&1
wheel=$(wheel_of cp312-abi3 "manylinux*_aarch64")
echo "== $wheel"
path=$(site 3.13 manylinux_2_27_aarch64 "$wheel")
PYTHONPATH=$path \
    qemu-aarch64-static -L "$root" "$root/usr/bin/python3.13" -c "$smoke"
