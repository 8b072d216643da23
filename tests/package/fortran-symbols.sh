#!/bin/bash
# fortran-symbols.sh LIBRARY BUILT SOURCES: every procedure that the modules bind to is exported, and all that is exported
# is one of those or written in a module, but for the two variables of which a process has one each.
set -euo pipefail

exported=$(nm --dynamic --defined-only --format=posix --without-symbol-versions "$1" |
    grep -v "^UNIBUF_[0-9.]* A " | cut -d' ' -f1 | LC_ALL=C sort)
echo "$(wc -l <<<"$exported") symbols"
bound=$(grep -oh "name='unibuf_fortran_[a-z_]*'" "$2"/*.F90 "$3"/*.f90 | cut -d"'" -f2 | LC_ALL=C sort -u)
diff <(grep '^unibuf_fortran_' <<<"$exported") - <<<"$bound"
! grep -vE '^(unibuf_fortran_|__[a-z_]*_MOD_)' <<<"$exported" | c++filt |
    grep -vxE 'unibuf::detail::(default_space|thread_number)'
