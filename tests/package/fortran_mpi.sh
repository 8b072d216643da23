#!/bin/bash
# fortran_mpi.sh BUILD MPICC MPIFORT MPIEXEC...: installs, and builds a program with the module for MPI from what is installed:
# by CMake, by pkg-config, and by a rule that makes NAME.o of NAME.c and NAME.f90 in one folder.
set -euo pipefail

build=$1 mpicc=$2 mpifort=$3 mpiexec=("${@:4}")
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/unibuf" >"$work/log"

cmake -S "$here/fortran_mpi_consumer" -B "$work/build" -D CMAKE_PREFIX_PATH="$work/unibuf" -D MPI_C_COMPILER="$mpicc" \
    -D MPI_Fortran_COMPILER="$mpifort"
cmake --build "$work/build"
"${mpiexec[@]}" -n 2 "$work/build/consumer"

PKG_CONFIG_PATH=$(dirname "$(find "$work/unibuf" -name unibuf-fortran-mpi.pc)")
export PKG_CONFIG_PATH
read -ra c_sources < <(pkg-config --variable=c_sources unibuf-fortran-mpi)
read -ra fortran_sources < <(pkg-config --variable=fortran_sources unibuf-fortran-mpi)
read -ra flags < <(pkg-config --cflags unibuf-fortran-mpi)
read -ra libraries < <(pkg-config --libs unibuf-fortran-mpi)
mkdir "$work/objects"
cd "$work/objects"
objects=()
for source in "${c_sources[@]}" "${fortran_sources[@]}" "$here/fortran_mpi_consumer/main.f90"; do
    object=$(basename "${source%.*}").o
    [[ ! -e $object ]]
    compiler=$mpifort
    if [[ $source == *.c ]]; then compiler=$mpicc; fi
    "$compiler" -c "$source" "${flags[@]}" -o "$object"
    objects+=("$object")
done
"$mpifort" "${objects[@]}" "${libraries[@]}" -o consumer
export LD_LIBRARY_PATH
LD_LIBRARY_PATH=$(pkg-config --variable=libdir unibuf-fortran)
"${mpiexec[@]}" -n 2 ./consumer
