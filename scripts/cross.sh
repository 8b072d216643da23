#!/bin/bash
# cross.sh SYSTEM PROCESSOR TARGET FOLDER [PART...]: the library, the C API, the tool, the examples and the tests for another
# system, or the parts of them that are named as CMake's targets, into FOLDER. SYSTEM and PROCESSOR are as CMake has them,
# TARGET as zig has it.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/zig.sh

system=$1 processor=$2 target=$3 folder=$(realpath -m "$4")
tools=$PWD/build/cross-tools
mkdir -p build
grep -E '^(ziglang|nanobind)==' scripts/wheel-requirements.txt >build/cross-requirements.txt
scripts/python-environment.sh "$tools" build/cross-requirements.txt
zig=$(realpath "$tools"/lib/python3*/site-packages)/ziglang/zig

headers=$folder/headers
headers_of "$headers" libfmt-dev libfmt9 libcli11-dev nlohmann-json3-dev libstb-dev opencl-c-headers libjs-chart.js
compilers_for "$zig" "$target" "$folder/compilers"
at=$folder/compilers
optimized=-O1
# The programs find the libraries in the folder lib beside theirs.
of_system=(-D "CMAKE_INSTALL_RPATH=\$ORIGIN/../lib")
if [[ $system == Darwin ]]; then
    optimized=-O0 # nothing of it is run
    # In zig's headers for macOS, math.h takes a part of float.h, after which there is no other.
    of_system=(-D CMAKE_INSTALL_RPATH=@loader_path/../lib -D "CMAKE_CXX_FLAGS=-U__STRICT_ANSI__ -include float.h"
        -D CMAKE_INSTALL_NAME_TOOL=false -D CMAKE_USER_MAKE_RULES_OVERRIDE="$PWD/cmake/zig_macos.cmake")
    # The Python module as well, by Python's own headers, which are the same on all 64-bit systems in what a module needs.
    python_headers "$headers/python"
    links_modules "$at/c++"
    # Any file stands in the place of the module's types, which this machine cannot ask it for: nothing is installed.
    of_system+=(-D UNIBUF_PYTHON=ON -D UNIBUF_PYTHON_STUB="$PWD/bindings/python/unibuf/py.typed"
        -D Python_EXECUTABLE="$tools/bin/python" -D Python_INCLUDE_DIR="$headers/python"
        -D "NB_SUFFIX=.$(python3 -c 'import sys; print(sys.implementation.cache_tag)')-darwin.so")
fi
cmake -G Ninja -S . -B "$folder" --log-level=WARNING \
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_C_FLAGS_RELEASE="$optimized -DNDEBUG" -D CMAKE_CXX_FLAGS_RELEASE="$optimized -DNDEBUG" \
    -D UNIBUF_UNITY=ON -D UNIBUF_TESTS=ON \
    -D CMAKE_SYSTEM_NAME="$system" -D CMAKE_SYSTEM_PROCESSOR="$processor" \
    -D CMAKE_C_COMPILER="$at/cc" -D CMAKE_CXX_COMPILER="$at/c++" -D CMAKE_AR="$at/ar" -D CMAKE_RANLIB="$at/ranlib" \
    -D CMAKE_BUILD_WITH_INSTALL_RPATH=ON -D CMAKE_BUILD_WITH_INSTALL_NAME_DIR=ON "${of_system[@]}" \
    -D CMAKE_LIBRARY_OUTPUT_DIRECTORY="$folder/lib" \
    -D fmt_DIR="$(config_in "$headers" fmt-config)" -D CLI11_DIR="$(config_in "$headers" CLI11Config)" \
    -D nlohmann_json_DIR="$(config_in "$headers" nlohmann_jsonConfig)" \
    -D STB_INCLUDE_DIR="$headers/usr/include/stb" \
    -D UNIBUF_CHART_JS="$headers/usr/share/javascript/chart.js/chart.min.js" \
    -D CMAKE_DISABLE_FIND_PACKAGE_SQLite3=ON
cmake --build "$folder" ${5+--target "${@:5}"}
# Of the Fortran API what is C++: no Fortran compiler for another system is here.
mkdir -p "$headers/fortran" "$folder/fortran"
cp "$(gfortran -print-file-name=include/ISO_Fortran_binding.h)" "$headers/fortran"
printf '%s\n' "$PWD"/bindings/fortran/native/*.cpp | (cd "$folder/fortran" && xargs -d '\n' -n 1 -P "$(nproc)" "$at/c++" \
    -std=c++20 -U__STRICT_ANSI__ -include float.h -Wno-return-type-c-linkage -D FMT_HEADER_ONLY=1 \
    -I "$OLDPWD/include" -I "$OLDPWD/bindings/fortran/native" -I "$headers/fortran" -I "$headers/usr/include" -c)
mkdir -p "$folder/bin"
cp "$folder/cli/unibuf" "$folder/bin/unibuf"
