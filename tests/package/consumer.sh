#!/bin/bash
# consumer.sh BUILD COMPILER: installs, moves the tree elsewhere, and builds a program against it with CMake and with pkg-config.
set -euo pipefail

build=$1 compiler=$2
consumer=$(dirname "$(realpath "$0")")/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first"
mv "$work/first" "$work/moved"
! grep -rIl "$work/first" "$work/moved" || exit 1

cmake -S "$consumer" -B "$work/build" -D CMAKE_CXX_COMPILER="$compiler" -D CMAKE_PREFIX_PATH="$work/moved"
cmake --build "$work/build"
"$work/build/consumer"

PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name unibuf.pc)")
export PKG_CONFIG_PATH
read -ra flags < <(pkg-config --cflags --libs unibuf)
"$compiler" -std=c++20 "$consumer/main.cpp" "${flags[@]}" -o "$work/consumer"
LD_LIBRARY_PATH=$(pkg-config --variable=libdir unibuf) "$work/consumer"

"$work/moved/bin/unibuf" --help
