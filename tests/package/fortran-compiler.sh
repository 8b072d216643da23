#!/bin/bash
# fortran-compiler.sh BUILD CXX FC CONTENTS: where that other Fortran compiler is on the machine, it cannot use the modules that
# are installed, and is told so; from the sources that are installed it makes its own, which pass the tests. gfortran 12 to
# 14 read each other's modules; gfortran 11 is refused. CONTENTS is contents_test, made by fypp.
set -euo pipefail

build=$1 compiler=$2 fortran_compiler=$3 contents=$4
here=$(dirname "$(realpath "$0")")
if ! command -v "$fortran_compiler"; then
    echo "SKIP: there is no $fortran_compiler"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1  # what was compiled in another such folder is the same
cmake --install "$build" --prefix "$work/unibuf" >"$work/log"

# configure FOLDER OPTION...
configure() {
    cmake -S "$here/$1" -B "$work/$1" -D CMAKE_PREFIX_PATH="$work/unibuf" -D CMAKE_CXX_COMPILER="$compiler" \
        -D CMAKE_Fortran_COMPILER="$fortran_compiler" "${@:2}"
}

# is_refused WORDS FOLDER OPTION...: CMake breaks lines where it likes.
is_refused() {
    if configure "${@:2}" >"$work/log" 2>&1; then return 1; fi
    tr -s ' \n' ' ' <"$work/log" | grep -o "$1.*"
}

sources=$work/unibuf/share/unibuf/bindings/fortran
suite=(fortran_suite -D TESTS="$here/../fortran" -D CONTENTS="$contents" -D SOURCES="$sources"
    -D CMAKE_CXX_COMPILER_LAUNCHER=ccache)
if [[ $fortran_compiler == gfortran-1[34] ]]; then
    configure fortran_consumer
    cmake --build "$work/fortran_consumer"
    "$work/fortran_consumer/consumer"
else
    is_refused "modules were written by .* cannot read them. Build its own: cmake -S $sources" fortran_consumer
fi
if [[ $fortran_compiler == gfortran-11 ]]; then
    is_refused "gfortran 12 or later is needed" "${suite[@]}"
    exit
fi
configure "${suite[@]}"
cmake --build "$work/fortran_suite" --parallel 2
ctest --test-dir "$work/fortran_suite" --output-on-failure
