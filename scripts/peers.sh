#!/bin/bash
# peers.sh: measures unibuf and other libraries in turns, into build/suite/peers.json, and prints a table. It takes some
# minutes, and wants build/venv and build/peers of the Makefile, which it does not make: without them Python is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

cmake --preset release >/dev/null
cmake --build --preset release --target unibuf_peers

programs=build/release/peers rows=build/suite/peers
rm -rf "$rows"
mkdir -p "$rows"
cp "$programs/missing.txt" "$rows/missing.txt"
[[ ! -e $programs/peers_layer.so ]] || export OPENCL_LAYERS=$PWD/$programs/peers_layer.so
export STARPU_HOME=$PWD/build/suite STARPU_HOSTNAME=here # where it keeps what it has measured of this machine

# measure NAME PROGRAM [OPTION]: a program is there where its library was found.
measure() {
    [[ ! -x $programs/$2 ]] || "$programs/$2" "${@:3}" "$rows/$1.json"
}
measure by-hand peer_by_hand
measure by-hand-shared peer_by_hand --shared
measure umat peer_umat
measure umat-copying peer_umat --copying
measure dualview peer_dualview
measure starpu peer_starpu
if [[ -x build/venv/bin/python && -d build/peers ]]; then
    cmake --build --preset release --target unibuf_python
    export PYTHONPATH=build/release/python:build/peers
    build/venv/bin/python bench/peers/opencl_peers.py "$rows/opencl.json"
    build/venv/bin/python bench/peers/cuda_peers.py "$rows/cuda.json" >>"$rows/missing.txt"
else
    echo "PyOpenCL, PyDotCompute: build/venv or build/peers is not there (make build/peers)" >>"$rows/missing.txt"
fi

python3 bench/peers/table.py build/suite/peers.json "$rows/missing.txt" "$rows"/*.json
