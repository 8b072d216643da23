#!/bin/bash
# nightly.sh: what takes too long for each change, without a limit of time: see docs/test-plan.md. Each part has a row at the end, and all of it
# a line in tests/nightly.txt, which says when it last passed, and on which commit. ONLY="macos deb" runs these parts alone, and leaves
# that file alone. Ends with 1 where something failed.
# shellcheck disable=SC2317  # functions are called by name
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

build=build/nightly
mkdir -p "$build"
# shellcheck source-path=SCRIPTDIR
. scripts/checks.sh

# So many histories of each arrangement of devices, where .ci/run plays a hundred. Each prints what plays it again if it fails.
# HISTORIES=500000 ONLY=histories is a hundred million operations.
long_histories() {
    local results=$build/histories.xml
    RC_PARAMS="max_success=${HISTORIES:-5000}" build/release/tests/unit_tests --gtest_brief=1 --gtest_output="xml:$results" \
        --gtest_filter='*a_history*' || return
    python3 -c 'import sys, xml.etree.ElementTree as xml
print(sum(int(each.get("value")) for each in xml.parse(sys.argv[1]).iter("property") if each.get("name") == "operations"), "operations")' "$results"
}

scripts/install-dependencies.sh compilers || exit 1
run tests make test
run debug make test QUICK=1 PRESET=debug
run lint make lint FULL=1
run sanitize make sanitize FULL=1
run sanitize-python make sanitize-python
run free-threading make test-python VERSION=3.14t
run interop make test-interop
run histories long_histories
run fuzz scripts/fuzz.sh $((${FUZZ_MINUTES:-30} * 60))
run mutants make mutants
run planted make planted
run growth make growth MOST=100000
run macos make macos
run aarch64 make aarch64
run musl make musl
run wheels make wheels
run test-wheels make test-wheels
run deb make deb
run conan make conan
run docs make docs

if [[ -z ${ONLY:-} ]]; then
    verdict=passed
    ((failed == 0)) || verdict="failed: $(printf '%s\n' "${rows[@]}" | awk '$1 == "FAIL" { printf "%s ", $2 }')"
    printf '%s  %s  %s\n' "$(date -u +%F)" "$(git rev-parse --short=12 HEAD)" "$verdict" >>tests/nightly.txt
fi
finish
