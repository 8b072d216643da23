#!/bin/bash
# nightly.sh: what takes too long for each change, without a limit of time: see docs/test-plan.md. Each part has a row at the end, and one in
# tests/nightly.txt, which says when it last ran, on which commit, and how that ended. ONLY="macos deb" runs these parts alone. Ends with 1
# where something failed.
# shellcheck disable=SC2317  # functions are called by name
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

build=build/nightly
mkdir -p "$build"
# shellcheck source-path=SCRIPTDIR
. scripts/checks.sh

# part PART COMMAND...: runs it, and adds a row to tests/nightly.txt. The rows of a part are its last pass, and its last failure since. A "+"
# behind the commit says that the tree had changes that were not committed.
part() {
    local noted=tests/nightly.txt begin=$SECONDS verdict=passed passed_before="" changed='' commit others
    is_asked_for "$1" || return 0
    [[ -z $(git status --porcelain -- . ":!$noted") ]] || changed=+
    commit=$(git rev-parse --short=12 HEAD)$changed
    run "$@" || verdict=FAILED
    [[ $verdict == passed ]] || passed_before='.*FAILED$'
    others=$(grep -v "^$1 $passed_before" "$noted")
    {
        printf '%s\n' "$others"
        printf '%-16s %s  %-13s %7d  %s\n' "$1" "$(date -u +%F)" "$commit" $((SECONDS - begin)) "$verdict"
    } >"$noted"
}

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
part tests make test
part debug make test QUICK=1 PRESET=debug
part lint make lint FULL=1
part sanitize make sanitize FULL=1
part sanitize-python make sanitize-python
part free-threading make test-python VERSION=3.14t
part interop make test-interop
part histories long_histories
part fuzz scripts/fuzz.sh $((${FUZZ_MINUTES:-30} * 60))
part mutants make mutants
part planted make planted
part growth make growth MOST=100000
part macos make macos
part aarch64 make aarch64
part musl make musl
part wheels make wheels
part test-wheels make test-wheels
part deb make deb
part conan make conan
part opencl make opencl-check
part docs make docs

finish
