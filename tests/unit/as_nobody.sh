#!/bin/bash
# as_nobody.sh PROGRAM: runs a program of GoogleTest as a user who is not root, where the tests are run by root, who may do
# what users may not: write into every folder, lock all memory, find writes by the kernel in every way.
set -euo pipefail

program=$1
skip() {
    echo "SKIP: $1"
    exit 77
}
((EUID == 0)) || skip "all tests are run by a user who is not root"
command -v setpriv >/dev/null || skip "there is no setpriv to become another user (util-linux)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chown 65534:65534 "$work"
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs
    env "HOME=$work" "TMPDIR=$work" "TEST_TMPDIR=$work" "UNIBUF_KERNEL_CACHE=$work")
cd "$work"
"${nobody[@]}" true 2>"$work/said" || skip "nobody can be another user here: $(<"$work/said")"
"${nobody[@]}" test -x "$program" || skip "a folder of $program is root's alone"
# The model asks the system for nothing, nor do compared bytes; a few histories tell how writes are found here.
"${nobody[@]}" RC_PARAMS=max_success=10 "$program" --gtest_filter=-coherence_model.*:*a_flag.* --gtest_brief=1
