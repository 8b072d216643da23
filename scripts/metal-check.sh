#!/bin/bash
# metal-check.sh: proves on this Mac what a double of Metal cannot: see docs/metal.md. What it needs beside Xcode's command
# line tools and Python 3.11 (PYTHON names it) it fetches from PyPI, and by Conan, into build/metal. UNIBUF_METAL_DOUBLE=1 takes the test
# double in the place of Metal, with this machine's own packages, which proves this script. Ends with 1 where something
# failed. It runs in the bash 3.2 of macOS.
# shellcheck disable=SC2317  # functions are called by name
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

build=${BUILD:-build/metal}
double=${UNIBUF_METAL_DOUBLE:-0}
jobs=$(getconf _NPROCESSORS_ONLN)
# shellcheck source-path=SCRIPTDIR
. scripts/checks.sh

# The packages of Python, as the tests have them; MLX with Metal.
fetch_python() {
    export PYTHON=${PYTHON:-python3}
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
        { echo "$("$PYTHON" --version 2>&1), and 3.11 is needed: PYTHON names one"; return 1; }
    grep -E '^(nanobind|numpy|pytest|matplotlib)==' tests/python/requirements.txt >"$build/requirements.txt"
    # There is no MLX for Intel.
    [[ $(uname -m) != arm64 ]] || sed -n 's/^mlx\[cpu\]==/mlx==/p' tests/python/requirements.txt >>"$build/requirements.txt"
    printf '%s\n' 'cmake>=3.25' ninja 'conan>=2' >>"$build/requirements.txt"
    scripts/python-environment.sh "$build/venv" "$build/requirements.txt" && echo "$("$build/venv/bin/python" --version), $(
        "$build/venv/bin/python" -m pip list 2>/dev/null | awk '$1 ~ /^(mlx|numpy|nanobind)$/ { printf "%s %s ", $1, $2 }')"
}

fetch_libraries() {
    export CONAN_HOME=$PWD/$build/conan
    { [[ -f $CONAN_HOME/profiles/default ]] || conan profile detect; } &&
        conan install scripts/metal-parts.txt --build=missing -s build_type=Release -s compiler.cppstd=20 \
            --output-folder "$build/parts" && echo "libraries are in $build/parts"
}

build_all() {
    local options=(-G Ninja -B "$build/tree" -D CMAKE_BUILD_TYPE=Release -D UNIBUF_TESTS=ON -D UNIBUF_PYTHON=ON
        -D "Python_EXECUTABLE=$(command -v python3)")
    if [[ $double != 1 ]]; then options+=(-D "CMAKE_TOOLCHAIN_FILE=$PWD/$build/parts/conan_toolchain.cmake"); fi
    cmake "${options[@]}" >"$build/configure.log" 2>&1 || { cat "$build/configure.log"; return 1; }
    cmake --build "$build/tree" -j "$jobs" --target unibuf_cli conv2d unit_tests fault_tests contract_host contract_debug \
        contract_metal c_contract unibuf_python >"$build/ninja.log" 2>&1 ||
        { grep -vE '^\[[0-9]+/[0-9]+\]' "$build/ninja.log"; return 1; }
    echo "built with $(c++ --version | head -n 1)"
}

# tests PROGRAM [ARGUMENT...]: a program of GoogleTest; what it skips it says with its reason.
tests() {
    local program=$build/tree/tests/$1 log=$build/$1.log.all status=0
    shift
    "$program" "$@" >"$log" 2>&1 || status=$?
    ((status == 0)) || grep -A 8 -E 'Failure|FAILED' "$log" | head -n 100
    awk '/: Skipped$/ { getline; print "skipped: " $0 }' "$log" | sort | uniq -c
    grep -E '^\[  PASSED' "$log" || tail -n 5 "$log"
    return "$status"
}

run_conv2d() {
    local picture=${PICTURE:-}
    [[ -n $picture ]] || picture=$(python3 -c '
import pathlib, matplotlib
print(pathlib.Path(matplotlib.get_data_path()) / "sample_data" / "grace_hopper.jpg")')
    "$build/tree/examples/conv2d" --picture "$picture" --output "$build/edges.png" --space metal:0 --mode all \
        --size "${SIZE:-4096x4096}" --json "$build/conv2d.json" | tee "$build/conv2d.txt" &&
        awk '/zero-copy/ { print "zero-copy: " $NF " of copying" }' "$build/conv2d.txt"
}

run_python() {
    PYTHONPATH=$build/tree/python PYTHONDONTWRITEBYTECODE=1 python3 -m pytest -q -rs tests/python/metal_test.py
}

run_benchmarks() { PYTHONPATH=$build/tree/python python3 bench/python/metal.py --json "$build/bench.json"; }

mkdir -p "$build"
title machine
date -u +%F
uname -srm
if command -v sw_vers >/dev/null; then
    sw_vers
    sysctl -n hw.model machdep.cpu.brand_string hw.memsize hw.pagesize
elif [[ $double != 1 ]]; then
    row SKIP all "this is no Mac: UNIBUF_METAL_DOUBLE=1 runs the script on the test double"
    finish
fi

if [[ $double == 1 ]]; then
    PATH=$PWD/build/venv/bin:$PATH
    LD_LIBRARY_PATH=$PWD/$build/tree/tests/doubles/metal${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export PATH LD_LIBRARY_PATH
else
    run python-packages fetch_python || finish
    PATH=$PWD/$build/venv/bin:$PATH
    export PATH
    run libraries fetch_libraries || finish
fi
run build build_all || finish

title devices
"$build/tree/cli/unibuf" devices --verbose || row FAIL devices "the tool failed"
if ! why=$("$build/tree/cli/unibuf" devices --json | python3 -c '
import json, sys
first = next(each for each in json.load(sys.stdin) if each["name"].startswith("metal"))
print(first["description"] or first["reason"])
sys.exit(not first["available"])'); then
    row FAIL device "unibuf finds none: $why"
    finish
fi
row OK device "$why"

run metal tests contract_metal
run c "$build/tree/tests/c/c_contract" metal:0
run conv2d run_conv2d
run mlx run_python
run host tests contract_host
run debug tests contract_debug
run unit tests unit_tests
run fault tests fault_tests
run benchmarks run_benchmarks
{ title summary && printf '%s\n' "${rows[@]}"; } >"$build/report.txt"
echo "The table is in $build/report.txt, the output of each part beside it."
finish
