#!/bin/bash
# inspect-macos.sh FOLDER ARCHITECTURE [without-programs]: checks what a build for macOS has left: for which machine and system
# it is, what it loads, and what it exports.
set -euo pipefail

folder=$1 architecture=$2
oldest=11.0
faults=0

complain() {
    echo "$*" >&2
    faults=1
}

# expect WHAT WANTED GOT
expect() { [[ $2 == "$3" ]] || complain "$1: $3, and not $2"; }

headers_of() { llvm-objdump-19 --macho --private-headers "$1"; }

# exported_by FILE: the names that others may use, without the underscore that all names have there.
exported_by() { llvm-nm-19 --extern-only --defined-only --just-symbol-name "$1" | sed 's/^_//'; }

files=(lib/libunibuf.dylib lib/libunibuf_c.dylib bin/unibuf
    "python/unibuf/_native.$(python3 -c 'import sys; print(sys.implementation.cache_tag)')-darwin.so")
programs=(bin/unibuf)
if [[ ${3-} == without-programs ]]; then
    echo "$folder: without examples and tests, which have no code of one processor: they are built for the other one"
else
    files+=(examples/conv2d examples/heat tests/unit_tests tests/fault_tests tests/contract_{host,debug,metal})
    programs+=(examples/conv2d tests/unit_tests)
fi
for file in "${files[@]}"; do
    path=$folder/$file
    if [[ ! -f $path ]]; then
        complain "$file is missing"
        continue
    fi
    expect "$file is for" "$architecture" "$(llvm-lipo-19 -archs "$path" | xargs)"
    expect "$file runs from macOS" "$oldest" "$(headers_of "$path" | awk '$1 == "minos" { print $2 }')"
    while read -r loaded; do
        case $loaded in
            "$file" | /usr/lib/libSystem.B.dylib | @rpath/libunibuf.*.dylib | @rpath/libunibuf_c.*.dylib) ;;
            *) complain "$file loads $loaded" ;;
        esac
    done < <(llvm-objdump-19 --macho --dylibs-used "$path" | awk 'NR > 1 { print $1 }')
done

for program in "${programs[@]}"; do
    expect "$program looks for libraries in" @loader_path/../lib \
        "$(headers_of "$folder/$program" | awk '$2 == "LC_RPATH" { now = 1 } now && $1 == "path" { print $2; now = 0 }')"
done
# The C API is what Linux has of it, by name.
expect "names that libunibuf_c lacks, or has in addition" "" \
    "$(diff <(exported_by "$folder/lib/libunibuf_c.dylib" | grep '^unibuf_' | sort) <(sort tests/package/c-symbols.txt) || true)"
# Beside unibuf's own there are the operators of zig's standard library of C++, which is inside.
expect "names that libunibuf exports, and should not" "" \
    "$(exported_by "$folder/lib/libunibuf.dylib" | grep -v 'unibuf' | grep -Ev '^_Z(n|d)[aw]|^_Z(n|d)[al]P|^_?_(dso_handle|mh_dylib_header)$' || true)"
if ((!faults)); then echo "$folder: what was asked for, for $architecture and macOS $oldest"; fi
exit "$faults"
