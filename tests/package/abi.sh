#!/bin/bash
# abi.sh LIBRARY COMPATIBLE compare|store: what programs were built with is still in LIBRARY, which has debug information: no
# function went, and no public type changed. It is compared with what is stored in tests/package/abi.
set -euo pipefail

library=$1 compatible=$2 what=$3
name=$(basename "${library%%.so*}")
here=$(dirname "$(realpath "$0")")/abi
stored=$here/$name.$compatible.xml.xz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

abidw --suppressions "$here/public.abignore" --exported-interfaces-only --no-show-locs --no-corpus-path --no-comp-dir-path \
    --no-elf-needed --no-parameter-names --out-file "$work/now.xml" "$library"
if ! grep -q "<class-decl name='\(unibuf_\)\?buffer" "$work/now.xml"; then
    echo "$library has no debug information" >&2
    exit 1
fi
if [[ $what == store ]]; then
    rm -f "$here/$name".*.xml.xz
    xz -9 --extreme --stdout "$work/now.xml" >"$stored"
    ls -l "$stored"
    exit
fi

if ! [[ -e $stored ]]; then
    echo "Nothing is stored for version $compatible, which its first release has to hold to: \`make abi STORE=1\` does" >&2
    exit 1
fi
xz --decompress --stdout "$stored" >"$work/stored.xml"
status=0
abidiff --no-added-syms "$work/stored.xml" "$work/now.xml" || status=$?
if ((status & 4)); then
    echo "Programs that were built with $compatible break. Bring back what they need, or raise the version, as" \
        "docs/compatibility.md says; before the first release of $compatible, \`make abi STORE=1\` stores the new one." >&2
fi
exit $status
