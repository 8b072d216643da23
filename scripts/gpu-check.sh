#!/bin/bash
# gpu-check.sh [PARTS]: proves on this machine's CUDA device what a double cannot: see docs/gpu.md. PARTS is what
# gpu-parts.sh made; without it the system's packages are used. UNIBUF_CUDA_DOUBLE=1 takes the test double in the place
# of the driver, which proves this script. Ends with 1 where something failed.
# shellcheck disable=SC2317  # functions are called by name
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

parts=${1:-}
build=${BUILD:-build/gpu}
python=${PYTHON:-python3}
picture=${PICTURE:-$parts/picture.jpg}
if [[ ! -f $picture ]]; then picture=$(dpkg -L python-matplotlib-data 2>/dev/null | grep '/grace_hopper.jpg$'); fi
jobs=$(nproc)
# shellcheck source-path=SCRIPTDIR
. scripts/checks.sh

has_python() { "$python" -c 'import nanobind, numpy, pytest' 2>/dev/null; }

build_all() {
    local options=(-G Ninja -B "$build" -D CMAKE_BUILD_TYPE=Release -D UNIBUF_TESTS=ON -D UNIBUF_UNITY=ON)
    if [[ -n $parts ]]; then options+=(-D "CMAKE_PREFIX_PATH=$(realpath "$parts")"); fi
    local targets=(unibuf_cli conv2d unibuf_bench fault_tests contract_host contract_debug contract_opencl
        contract_opengl contract_cuda cuda_double_tests cuda_cli_tests gpu_interop
        c_contract c_sizes c_threads c_adopt_opencl c_adopt_opengl)
    if has_python; then
        options+=(-D UNIBUF_PYTHON=ON -D "Python_EXECUTABLE=$(command -v "$python")")
        targets+=(unibuf_python)
    fi
    cmake "${options[@]}" >"$build/configure.log" 2>&1 ||
        { cat "$build/configure.log"; return 1; }
    # The programs of tests and no others: documents and packages are the same everywhere.
    cmake --build "$build" -j "$jobs" --target "${targets[@]}" >"$build/ninja.log" 2>&1 ||
        { grep -vE '^\[[0-9]+/[0-9]+\]' "$build/ninja.log"; return 1; }
    echo "built with $(c++ --version | head -n 1)"
}

# What would hang, or end the process, on a driver that is otherwise than its documents say. Each part has a minute.
run_probes() {
    local each
    for each in attributes order stalls queues depths sizes registered batches captures pools costs; do
        run "driver.$each" timeout 60 "$python" tests/gpu/driver_facts.py "$each"
    done
    local -A filters=(
        [order]='cuda_test.*stream*:cuda_test.*lease*:cuda_test.memory_goes*:cuda_test.readers*:named_streams.*:two_devices.*'
        [bytes]='cuda_test.carries*:cuda_test.has_taken*:cuda_test.fills*'
        [captures]='beside_a_capture.*:captured_uploads.*:cuda_test.*captur*:cuda_test.refuses*'
        [stalls]='stall_test.*'
        [pinned]='faulted_in.*:watched_while_pinned.*:cuda_test.*pin*:cuda_test.share*:cuda_test.carries*parts'
    )
    for each in order bytes captures stalls pinned; do
        run "$each" env UNIBUF_REAL_CUDA=1 timeout 60 "$build/tests/contract_cuda" --gtest_brief=1 \
            --gtest_filter="${filters[$each]}"
    done
}

# What needs the double is skipped, and says so. Of APIs that this machine lacks the whole suite is.
run_tests() {
    local verdict=0
    rm -f "$build/tests.xml"
    # Each test has a context of its own on the card: no more than eight at once. A test that looks at the card's free
    # memory is run by the part `captures`, alone. The other programs that are left out are not built.
    UNIBUF_REAL_CUDA=1 ctest --test-dir "$build" -L '^(cuda|fault|host|debug|opencl|opengl)$' \
        -E '^(suite|conv2d|unit_tests|fuzz_replay)\.|memory_that_was_handed_out_is_freed_later$' \
        -j "$((jobs < 8 ? jobs : 8))" --timeout 120 --output-on-failure --output-junit tests.xml \
        --test-output-size-passed 100000 >"$build/ctest.log" 2>&1 || verdict=$?
    ((verdict == 0)) || grep -vE '^ +(Start|[0-9]+/)|Passed|Skipped' "$build/ctest.log"
    "$python" scripts/test-summary.py "$build/tests.xml" && return "$verdict"
}

run_conv2d() {
    "$build/examples/conv2d" --picture "$picture" --output "$build/edges.png" --space cuda:0 --mode all \
        --size 4096x4096 --json "$build/conv2d.json" | tee "$build/conv2d.txt" &&
        awk '/zero-copy/ { print "zero-copy: " $NF " of copying" }' "$build/conv2d.txt"
}

# The package on this device, with the machine's own CuPy; with the double of it where the driver is one.
run_python() {
    local path=$build/python runs=("tests/python/transitions_test.py" "tests/python/interop") each
    if [[ $double == double ]]; then
        path+=:tests/doubles/cupy
        runs=("tests/python/transitions_test.py $(echo tests/python/cuda_*_test.py)")
    fi
    # Each folder has a conftest.py of its own. JAX takes the whole card otherwise.
    for each in "${runs[@]}"; do
        # shellcheck disable=SC2086  # several files
        XLA_PYTHON_CLIENT_PREALLOCATE=false PYTHONPATH=$path PYTHONDONTWRITEBYTECODE=1 UNIBUF_TEST_SPACES=cuda:0 \
            "$python" -m pytest -q $each || return
    done
}

# Each of the machine's packages, loaded before the package and after it.
run_imports() {
    local each order
    for each in cupy torch jax ml_dtypes; do
        "$python" -c "import $each" 2>/dev/null || continue
        for order in "unibuf, $each" "$each, unibuf"; do
            PYTHONPATH=$build/python "$python" -X faulthandler -c "import $order" ||
                { LD_DEBUG=bindings PYTHONPATH=$build/python "$python" -c "import $order" 2>&1 |
                      grep -E '_native|libunibuf' >"$build/bindings.log"
                  echo "import $order: see $build/bindings.log"
                  return 1; }
            echo "import $order"
        done
    done
}

run_bench() {
    "$build/bench/unibuf_bench" --filter '^cuda\.' --json "$build/bench.json" >/dev/null &&
        "$python" scripts/gpu-table.py "$build/bench.json" "$build/table.json" "$double"
}

# CuPy, torch and RMM, as far as the machine has them, against unibuf.
run_peers() {
    PYTHONPATH=$build/python${PYTHONPATH:+:$PYTHONPATH} "$python" bench/peers/cuda_peers.py "$build/peers-rows.json" \
        >"$build/peers-missing.txt" &&
        "$python" bench/peers/table.py "$build/peers.json" "$build/peers-missing.txt" "$build/peers-rows.json"
}

mkdir -p "$build"
title machine
date -u +%F
if command -v nvidia-smi >/dev/null; then
    nvidia-smi --query-gpu=name,driver_version,memory.total,pcie.link.gen.max,pcie.link.width.max --format=csv
else
    echo "nvidia-smi is not here"
fi
for toolkit in nvcc /usr/local/cuda/bin/nvcc; do
    if command -v "$toolkit" >/dev/null; then "$toolkit" --version | tail -n 2 | head -n 1 && break; fi
done

run build build_all || finish
double=real
if [[ ${UNIBUF_CUDA_DOUBLE:-} == 1 ]]; then
    double=double
    export UNIBUF_CUDA_DOUBLE_JITTER=${UNIBUF_CUDA_DOUBLE_JITTER:-0}
    LD_LIBRARY_PATH=$(realpath "$build/tests/doubles")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    export LD_LIBRARY_PATH
fi

title devices
"$build/cli/unibuf" devices --verbose || row FAIL devices "the tool failed"
why=$("$build/cli/unibuf" devices --json | "$python" -c '
import json, sys
cuda = [each for each in json.load(sys.stdin) if each["name"].startswith("cuda")]
print(cuda[0]["description"] or cuda[0]["reason"])
sys.exit(0 if cuda[0]["available"] else 3)')
status=$?
if ((status == 3)) && ! nvidia-smi -L >/dev/null 2>&1; then
    row SKIP all "no CUDA device: $why"
    finish
elif ((status != 0)); then
    row FAIL device "unibuf finds none: $why"
    finish
fi
row OK device "$why"

run_probes
run tests run_tests
if ! "$build/examples/conv2d" --help | grep -q 'cuda:0'; then
    row SKIP conv2d "the example knows no CUDA"
elif [[ ! -f $picture ]]; then
    row SKIP conv2d "no picture: PICTURE names one"
else
    run conv2d run_conv2d
fi
run c "$build/tests/c/c_contract" cuda:0
run interop "$python" tests/gpu/interop.py "$build/tests/libgpu_interop.so"
if has_python; then
    run imports run_imports
    run python run_python
    [[ $double == double ]] || run peers run_peers
else
    row SKIP python "the package needs nanobind, numpy and pytest of $python"
fi
run benchmarks run_bench
finish
