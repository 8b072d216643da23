#!/bin/bash
# options.sh SOURCE CXX CC: what the preset of `make install` builds where something is missing, and what is refused.
set -euo pipefail

source=$1 compiler=$2 c_compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
said=$work/said

# configure OPTION...: what it says is in the file that $said names.
configure() {
    (cd "$source" && cmake --preset install -B "$work/build" -D CMAKE_CXX_COMPILER="$compiler" \
        -D CMAKE_C_COMPILER="$c_compiler" "$@") >"$said" 2>&1
}
# says TEXT
says() { grep -F -- "$1" "$said" || { cat "$said" && exit 1; }; }

without=(-D CMAKE_DISABLE_FIND_PACKAGE_CLI11=ON -D FYPP=)
FC=/nonexistent configure "${without[@]}"
says 'Left out: the Fortran API. On Debian: sudo apt-get install gfortran fypp'
says 'Left out: the tool unibuf. On Debian: sudo apt-get install libcli11-dev nlohmann-json3-dev'
cmake --build "$work/build" --target help >"$said"
says '... unibuf_c'
! grep -E 'unibuf_(fortran|cli)|conv2d' "$said" || exit 1

! configure "${without[@]}" -D UNIBUF_FORTRAN=ON || exit 1
says '  sudo apt-get install gfortran fypp'
! configure "${without[@]}" -D UNIBUF_FORTRAN=OFF -D UNIBUF_TOOLS=ON || exit 1
says '  sudo apt-get install libcli11-dev nlohmann-json3-dev'
! configure -D UNIBUF_FORTRAN=OFF -D UNIBUF_TOOLS=OFF -D CMAKE_DISABLE_FIND_PACKAGE_fmt=ON || exit 1
says '  sudo apt-get install libfmt-dev'
! configure -D BUILD_SHARED_LIBS=OFF || exit 1
says 'not built as a static library'

# What has been installed since is found.
if command -v gfortran && command -v fypp; then
    FC=/nonexistent configure -D BUILD_SHARED_LIBS=ON -D CMAKE_DISABLE_FIND_PACKAGE_fmt=OFF -D UNIBUF_FORTRAN=AUTO
    says 'Left out: the Fortran API'
    configure -U FYPP -D UNIBUF_TOOLS=OFF
    ! grep 'Left out' "$said" || exit 1
fi

configure -D BUILD_SHARED_LIBS=ON -D CMAKE_DISABLE_FIND_PACKAGE_fmt=OFF -D CMAKE_DISABLE_FIND_PACKAGE_CLI11=OFF \
    -D UNIBUF_FORTRAN=OFF -D UNIBUF_TOOLS=ON -D HELP2MAN=
says 'Left out: the manual pages of the tool. On Debian: sudo apt-get install help2man'
