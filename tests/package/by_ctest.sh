#!/bin/bash
# by_ctest.sh BUILD CXX TRACE.MD: the block for CTest in TRACE.MD fails a project's test once it moves more than that says.
set -euo pipefail

build=$1 compiler=$2 document=$3
here=$(dirname "$(realpath "$0")")/by_ctest
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/unibuf" >/dev/null
export PATH=$work/unibuf/bin:$PATH

# run MAX_BACK: the project with the block, which allows so much from the device back to the host.
run() {
    mkdir -p "$work/project"
    {
        echo 'cmake_minimum_required(VERSION 3.25)'
        echo 'project(solver CXX)'
        echo 'enable_testing()'
        echo 'find_package(unibuf REQUIRED)'
        echo "add_executable(solver [[$here/solver.cpp]])"
        echo 'target_link_libraries(solver unibuf::unibuf)'
        # shellcheck disable=SC2016  # these are no commands
        sed -n '/^```cmake$/,/^```$/p' "$document" | sed '/^```/d' | sed "s/cuda:host=1MB/debug:host=$1/; s/host:cuda/host:debug/"
    } >"$work/project/CMakeLists.txt"
    cmake -S "$work/project" -B "$work/build" -D CMAKE_PREFIX_PATH="$work/unibuf" -D CMAKE_CXX_COMPILER="$compiler" >/dev/null
    cmake --build "$work/build" >/dev/null
    ctest --test-dir "$work/build" --output-on-failure
}

run 1MB
if run 399kB >"$work/said"; then
    echo "399 kB were allowed, and 400 moved"
    exit 1
fi
grep -q 'solver_moves_little.*Failed' "$work/said"
grep -q 'solver_runs.*Passed' "$work/said"
