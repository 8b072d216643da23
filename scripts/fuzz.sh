#!/bin/bash
# fuzz.sh SECONDS: any history of operations against an oracle, and any bytes as a trace for every command that reads one, beside each
# other and under the sanitizers of the preset asan. What they find worth keeping is kept in build/fuzz; a failure leaves its input there.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?the seconds}
programs=build/asan/tests
export ASAN_OPTIONS=allocator_may_return_null=1:use_sigaltstack=0
running=()
trap 'kill "${running[@]}" 2>/dev/null || true' EXIT
for each in buffer:corpus trace:corpus-trace; do
    mkdir -p "build/fuzz/${each#*:}"
    "$programs/fuzz_${each%:*}" -max_total_time="$seconds" -artifact_prefix=build/fuzz/ -print_final_stats=1 \
        "build/fuzz/${each#*:}" "tests/fuzz/${each#*:}" >"build/fuzz/${each%:*}.log" 2>&1 &
    running+=($!)
done
failed=0
for each in buffer trace; do
    wait "${running[0]}" || failed=1
    running=("${running[@]:1}")
    tail -n "$((failed ? 60 : 1))" "build/fuzz/$each.log" | sed "s/^/$each: /"
    grep -h 'number_of_executed_units' "build/fuzz/$each.log" | sed "s/^/$each: /" || true
    ((failed == 0)) || break
done
((failed == 0)) || { echo "To play it again: $programs/fuzz_buffer or fuzz_trace, with the file of build/fuzz" >&2; exit 1; }
