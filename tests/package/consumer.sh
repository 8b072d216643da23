#!/bin/bash
# consumer.sh BUILD CXX CC [FC]: installs, moves the tree elsewhere, and builds programs against it with CMake and with
# pkg-config: one in C++; where CC is not empty one in C, which has no other compiler; with FC one in Fortran, likewise, and
# the modules from the sources that were installed.
set -euo pipefail

build=$1 compiler=$2 c_compiler=$3 fortran_compiler=${4-}
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved"
! grep -rIl "$work/first" "$work/moved" || exit 1

# by_cmake FOLDER OPTION...
by_cmake() {
    cmake -S "$here/$1" -B "$work/build/$1" -D CMAKE_PREFIX_PATH="$work/moved" "${@:2}"
    cmake --build "$work/build/$1"
    "$work/build/$1/consumer"
}

# by_pkg_config PACKAGE COMPILER ARGUMENT...
by_pkg_config() {
    local flags
    read -ra flags < <(pkg-config --cflags --libs "$1")
    "${@:2}" "${flags[@]}" -o "$work/$1"
    LD_LIBRARY_PATH=$(pkg-config --variable=libdir "$1") "$work/$1"
}

by_cmake consumer -D CMAKE_CXX_COMPILER="$compiler" -D CONSUMER_C="${c_compiler:+ON}"
PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name unibuf.pc)")
export PKG_CONFIG_PATH
by_pkg_config unibuf "$compiler" -std=c++20 "$here/consumer/main.cpp"

if [[ $c_compiler ]]; then
    CXX=/nonexistent FC=/nonexistent by_cmake c_consumer -D CMAKE_C_COMPILER="$c_compiler"
    by_pkg_config unibuf-c "$c_compiler" -std=c11 "$here/c_consumer/main.c"
fi

if [[ $fortran_compiler ]]; then
    CC=/nonexistent CXX=/nonexistent by_cmake fortran_consumer -D CMAKE_Fortran_COMPILER="$fortran_compiler"
    by_pkg_config unibuf-fortran "$fortran_compiler" -std=f2018 "$here/fortran_consumer/main.f90"

    cmake -S "$work/moved/share/unibuf/bindings/fortran" -B "$work/build/modules" -D CMAKE_PREFIX_PATH="$work/moved" \
        -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_Fortran_COMPILER="$fortran_compiler"
    cmake --build "$work/build/modules"
    "$fortran_compiler" "$here/fortran_consumer/main.f90" -I"$work/build/modules/modules" -L"$work/build/modules" \
        -lunibuf_fortran -Wl,-rpath,"$work/build/modules" -o "$work/from_sources"
    "$work/from_sources"
fi

"$work/moved/bin/unibuf" --help
