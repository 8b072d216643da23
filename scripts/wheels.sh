#!/bin/bash
# wheels.sh FOLDER STUB: all wheels and the source archive, into FOLDER, from this machine. STUB is the module's _native.pyi.
#
# zig compiles for the oldest glibc, for musl, and for another processor. The standard library of C++ is inside each
# module, and so is unibuf: nothing is loaded with it but the C library and, with glibc, that library's unwinder.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/zig.sh

folder=$(realpath -m "$1") stub=$(realpath "$2")
work=$folder/work
tools=$PWD/build/wheel-tools
mkdir -p "$folder" "$work"

export PATH=$tools/bin:$PATH
scripts/python-environment.sh "$tools" scripts/wheel-requirements.txt
site=$(realpath "$tools"/lib/python3*/site-packages)

# backend PYTHON CALL ARGUMENT...: calls scikit-build-core, as pip does.
backend() {
    local python=$1 call=$2
    shift 2
    PYTHONPATH=$site "$python" -c 'import json, sys
from scikit_build_core import build
getattr(build, sys.argv[1])(sys.argv[2], dict(each.split("=", 1) for each in sys.argv[3:]))' "$call" "$@"
}

# All wheels are built from the source archive, so it has what it takes.
backend "$tools/bin/python" build_sdist "$folder" >"$work/sdist.log" 2>&1
rm -rf "$work/source"
mkdir "$work/source"
tar -xmf "$folder"/*.tar.gz -C "$work/source" --strip-components=1

# Of Debian's headers only those of these libraries: the others are of this machine's C library.
headers=$work/headers
headers_of "$headers" libfmt-dev libfmt9 libcli11-dev nlohmann-json3-dev libjs-chart.js

# compilers TARGET: what CMake takes for the compiler, in a folder that it prints.
compilers() {
    local target=$1 at=$work/compilers-$1
    if [[ ! -f $at/libgcc_s.so ]]; then
        compilers_for "$site/ziglang/zig" "$target" "$at"
        "$at/cc" -shared -nostdlib -Wl,-soname,libgcc_s.so.1 -o "$at/libgcc_s.so" cmake/libgcc_s.c
    fi
    echo "$at"
}

# build PYTHON TARGET: the wheel for this Python and for what zig calls TARGET.
build() {
    local python=$1 target=$2
    local tree=$work/$target processor=${target%%-*} c_library=gnu abi at link
    abi=$("$python" -c 'import sys; print(f"cpython-{sys.version_info.major}{sys.version_info.minor}{sys.abiflags}")')
    at=$(compilers "$target")
    link="-s '$at/libgcc_s.so'"
    if [[ $target == *musl* ]]; then c_library=musl link=-s; fi
    # Objects that do not depend on the Python are compiled once a target. nanobind takes stdio.h for granted, which the
    # limited API of Python 3.13 does not bring along.
    rm -rf "$tree/CMakeCache.txt" "$tree/raw"
    (
        cd "$work/source"
        export _PYTHON_HOST_PLATFORM=linux-$processor SETUPTOOLS_EXT_SUFFIX=.$abi-$processor-linux-$c_library.so
        backend "$python" build_wheel "$tree/raw" "build-dir=$tree" install.strip=false \
            cmake.define.UNIBUF_PYTHON_STANDALONE=ON cmake.define.UNIBUF_PYTHON_STUB="$stub" \
            cmake.define.UNIBUF_UNITY=ON cmake.define.CMAKE_BUILD_TYPE=Release \
            "cmake.define.CMAKE_MODULE_LINKER_FLAGS=$link" "cmake.define.CMAKE_CXX_FLAGS=-include stdio.h" \
            cmake.define.CMAKE_SYSTEM_NAME=Linux cmake.define.CMAKE_SYSTEM_PROCESSOR="$processor" \
            cmake.define.CMAKE_C_COMPILER="$at/cc" cmake.define.CMAKE_CXX_COMPILER="$at/c++" \
            cmake.define.CMAKE_AR="$at/ar" cmake.define.CMAKE_RANLIB="$at/ranlib" \
            cmake.define.fmt_DIR="$(config_in "$headers" fmt-config)" cmake.define.CLI11_DIR="$(config_in "$headers" CLI11Config)" \
            "cmake.define.UNIBUF_CHART_JS=$headers/usr/share/javascript/chart.js/chart.min.js" \
            cmake.define.nlohmann_json_DIR="$(config_in "$headers" nlohmann_jsonConfig)"
    ) >"$tree.log" 2>&1 || { tail -40 "$tree.log" >&2; return 1; }
    if [[ $c_library == musl ]]; then
        # zig calls musl libc.so, and distributions have it by the name that they load it by.
        (
            cd "$tree/raw"
            wheel unpack ./*.whl
            rm ./*.whl
            patchelf --replace-needed libc.so "libc.musl-$processor.so.1" unibuf_python-*/unibuf/_native.*.so
            wheel pack unibuf_python-*
        ) >>"$tree.log" 2>&1
    fi
    # The name gets the oldest platform that it runs on.
    "$tools/bin/auditwheel" repair --plat auto --only-plat --wheel-dir "$folder" "$tree"/raw/*.whl >>"$tree.log" 2>&1 ||
        { tail -20 "$tree.log" >&2; return 1; }
}

missing=()
for version in ${UNIBUF_WHEEL_PYTHONS:-3.11 3.13 3.14t}; do
    if ! python=$(scripts/python-interpreter.sh "$version" build/pythons); then
        missing+=("$version")
        continue
    fi
    for target in ${UNIBUF_WHEEL_TARGETS:-x86_64-linux-gnu.2.28 aarch64-linux-gnu.2.28 x86_64-linux-musl}; do
        build "$python" "$target"
    done
done
for each in "$folder"/*abi3*.whl; do "$tools/bin/abi3audit" --strict "$each"; done
(cd "$folder" && sha256sum -- *.whl *.tar.gz >SHA256SUMS)
ls -l "$folder"
if ((${#missing[@]})); then
    echo "There are no wheels for ${missing[*]}, of which there is no Python here" >&2
    exit 1
fi
