#!/bin/bash
# soak.sh [HOURS]: runs the tests of build/release again and again for HOURS (2), beside 4 busy processes, each time with
# random histories of other seeds.
# It ends at the first failure: build/soak/failure holds what the tests said and a script, again.sh, that plays the failure again.
# At its end it appends a line to tests/soak.txt; where it is interrupted, it does not.
# BUSY=4 is how many busy processes there are, SEED=1 the first seed (else the time), LABELS a pattern of labels of CTest.
set -euo pipefail
cd "$(dirname "$0")/.."

hours=${1:-2}
busy=${BUSY:-4}
first=${SEED:-$(date +%s)}
# What compiles programs, reads documents or installs draws nothing at random.
labels=${LABELS:-'^(unit|fault|host|debug|opencl|opengl|cuda|metal|c|fortran|python)$'}
left_out='^python\.(wheel|notebooks|distributions|typing)$'
build=build/release
soak=build/soak

if ! seconds=$(awk -v hours="$hours" 'BEGIN { if (hours !~ /^[0-9]*\.?[0-9]+$/ || hours == 0) exit 1; print int(hours * 3600) }'); then
    echo "soak.sh: HOURS is a number above 0, not \"$hours\"" >&2
    exit 2
fi
if [[ ! -f $build/CTestTestfile.cmake ]]; then
    echo "soak.sh: $build has no tests: make build" >&2
    exit 2
fi

busy_ones=()
running=()
trap 'kill "${running[@]}" "${busy_ones[@]}" 2>/dev/null; wait' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# A busy process ends by itself when this one is gone, however that came about.
be_busy() {
    local owner=$1 i
    trap - EXIT INT TERM HUP
    while kill -0 "$owner" 2>/dev/null; do
        for ((i = 0; i < 200000; ++i)); do :; done
    done
}
for ((i = 0; i < busy; ++i)); do
    be_busy $$ &
    busy_ones+=($!)
done

# with_seed SEED COMMAND...: ends this shell as that command. RapidCheck, tests with seeds of their own, and Hypothesis (which draws nothing where CI is set).
with_seed() {
    local seed=$1
    shift
    exec env -u CI RC_PARAMS="seed=$seed max_success=200" UNIBUF_TEST_SEED="$seed" PYTEST_ADDOPTS="--hypothesis-seed=$seed" "$@"
}

rm -rf "$soak"
mkdir -p "$soak"
runs=0 tests=0 failures=0 seed=$first begin=$SECONDS
while ((SECONDS - begin < seconds)); do
    seed=$((first + runs))
    status=0
    # In the background, so that a signal to this script is followed at once.
    with_seed "$seed" ctest --test-dir "$build" -L "$labels" -E "$left_out" --parallel "${CTEST_PARALLEL_LEVEL:-$(nproc)}" \
        --schedule-random --stop-on-failure --no-tests=error --timeout 1800 --output-on-failure \
        --output-junit "$PWD/$soak/tests.xml" >"$soak/output.txt" 2>&1 </dev/null &
    running=($!)
    wait "${running[0]}" || status=$?
    running=()
    runs=$((runs + 1))
    of=$(sed -n 's/.*tests failed out of \([0-9]*\)$/\1/p' "$soak/output.txt")
    tests=$((tests + ${of:-0}))
    echo "seed $seed: ${of:-0} tests, status $status, $(((SECONDS - begin) / 60)) min"
    if ((status)); then
        failures=1
        break
    fi
done

took=$(awk -v seconds=$((SECONDS - begin)) 'BEGIN { printf "%.2f", seconds / 3600 }')
printf '%-10s  %-16s  %6s  %5s  %8s  %-23s  %s\n' "$(date +%F)" "$(git describe --always --dirty=+ --exclude '*')" "$took" \
    "$runs" "$tests" "$first-$seed" "$failures" | tee -a tests/soak.txt
((failures)) || exit 0

mkdir "$soak/failure"
cp "$soak/output.txt" "$soak/tests.xml" "$soak/failure/" || true
mapfile -t failed < <(sed -n '/^The following tests FAILED:/,$s/^[[:space:]]*[0-9]* - \(.*\) ([^()]*)$/\1/p' "$soak/output.txt")
{
    echo "#!/bin/bash"
    echo "# Plays again what failed in a long run, of $(git describe --always --dirty=+ --exclude '*')."
    printf 'cd %q\n' "$PWD"
    for each in "${failed[@]}"; do
        printf 'env -u CI RC_PARAMS=%q UNIBUF_TEST_SEED=%q PYTEST_ADDOPTS=%q ctest --test-dir %q -R %q --output-on-failure\n' \
            "seed=$seed max_success=200" "$seed" "--hypothesis-seed=$seed" "$build" "^${each//./\\.}\$"
    done
} >"$soak/failure/again.sh"
chmod +x "$soak/failure/again.sh"
{
    echo "seed $seed: ${failed[*]:-ctest itself failed: $soak/output.txt}"
    echo "What was said: $soak/failure/output.txt. Again: $soak/failure/again.sh"
} >&2
exit 1
