#!/bin/bash
# c-symbols.sh LIBRARY HEADER...: it exports the names of c-symbols.txt, and the headers declare them, and nothing else,
# but for the two variables that are shared with libunibuf (cmake/c.map).
# A name that goes from the list breaks programs: that is for a new major version.
set -euo pipefail

library=$1
shift
list=$(dirname "$(realpath "$0")")/c-symbols.txt
LC_ALL=C sort --check --unique "$list"
echo "$(wc -l <"$list") symbols"

echo "exported:"
exported=$(nm --dynamic --defined-only --format=posix --without-symbol-versions "$library" |
    grep -v "^UNIBUF_[0-9.]* A " | cut -d' ' -f1 | c++filt | LC_ALL=C sort)
shared=$'unibuf::detail::default_space\nunibuf::detail::thread_number'
diff <(printf '%s\n' "$shared") <(grep :: <<<"$exported")
diff "$list" <(grep -v :: <<<"$exported")
echo "declared:"
# A declaration may go on over lines, from UNIBUF_C_API to its name and a parenthesis.
sed 's://.*::' "$@" | tr '\n' ' ' | grep -oP 'UNIBUF_C_API\s[^(;]*?\K\bunibuf_\w+(?=\s*\()' | LC_ALL=C sort | diff "$list" -
