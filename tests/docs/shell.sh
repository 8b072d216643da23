#!/bin/bash
# shell.sh BUILD BLOCK [NAME PROGRAM]...: runs a shell block of a document as somebody does who has installed unibuf into
# $HOME/unibuf, in a HOME of its own where the programs lie by their names: app.cpp, app.c, ... A block that installs, does.
set -euo pipefail

build=$1 block=$2
HOME=$(mktemp -d)
export build HOME
trap 'rm -rf "$HOME"' EXIT

# What the Makefile does to install, but for the build, which is there.
make() {
    [[ $# == 2 && $1 == install && $2 == PREFIX=* ]] || { echo "make $*: not in a test" >&2 && return 2; }
    cmake --install "$build" --prefix "${2#PREFIX=}" >/dev/null
}
export -f make

# Tests have more processes than cores, and run as root in containers.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

grep -q '^make install' "$block" || make install PREFIX="$HOME/unibuf"
shift 2
for (( ; $# > 0; )); do
    cp "$2" "$HOME/$1"
    shift 2
done
cd "$HOME"
bash -euo pipefail "$block"
