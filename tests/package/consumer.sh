#!/bin/bash
# consumer.sh BUILD CXX [CC]: installs, moves the tree elsewhere, and builds programs against it with CMake and with
# pkg-config: one in C++, and with a C compiler one in C, which has no other.
set -euo pipefail

build=$1 compiler=$2 c_compiler=${3-}
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
    CXX=/nonexistent by_cmake c_consumer -D CMAKE_C_COMPILER="$c_compiler"
    by_pkg_config unibuf-c "$c_compiler" -std=c11 "$here/c_consumer/main.c"
fi

"$work/moved/bin/unibuf" --help
