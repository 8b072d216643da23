#!/bin/bash
# python-interpreter.sh VERSION FOLDER: prints where a Python of this version is (3.11, 3.13, 3.14t: without the
# interpreter's lock; 3.14t-tsan: that, built with Clang's thread sanitizer; 3.13-musl: for musl).
# It is the one on PATH, or else one that is built into FOLDER, once, from Debian's source.
set -euo pipefail
version=$1 folder=$(realpath -m "$2")
cd "$(dirname "$0")/.."
source scripts/debian.sh
built=$folder/$version/bin/python${version%-*}
if [[ -x $built ]]; then
    echo "$built"
    exit
fi
if "python$version" -c 'import zlib' 2>/dev/null; then
    command -v "python$version"
    exit
fi

number=${version%%[t-]*}
declare -A suites=([3.11]=bookworm [3.13]=trixie [3.14]=forky)
suite=${suites[$number]?"which release of Debian has Python $number is not known"}

# Where a mirror's lists name a version that the mirror no longer has, this one is taken, which it may have still.
declare -A known=([3.14]="3.14.7 SHA256:3b48dac8fb59f62eaa67ac83c1eb12bda1b7a08406dd286e252c11a66be27f81")

fetch() {
    local apt mirror patch hash name
    own_apt "$folder/apt" deb-src "$suite" "$(dpkg --print-architecture)"
    if (cd "$folder/sources" && "${apt[@]}" source --download-only "python$number"); then return; fi
    read -r patch hash <<<"${known[$number]?"no other version of Python $number is known"}"
    name=python${number}_$patch.orig.tar.xz
    /usr/lib/apt/apt-helper download-file "${mirror%/}/pool/main/p/python$number/$name" "$folder/sources/$name" "$hash"
}

build() {
    local link
    link=$(mktemp -d)  # what installs Python takes no path with a space; Python finds its own place when it runs
    ln -s "$folder" "$link/pythons"
    local options=(--prefix="$link/pythons/$version" --without-ensurepip --disable-test-modules)
    if [[ $version == *t || $version == *t-tsan ]]; then options+=(--disable-gil); fi
    mkdir -p "$folder/sources" "$folder/work-$version"
    compgen -G "$folder/sources/python${number}_*.orig.tar.*" >/dev/null || fetch
    local archive
    archive=$(compgen -G "$folder/sources/python${number}_*.orig.tar.?z")
    tar -xf "$archive" -C "$folder/work-$version" --strip-components=1
    local compiler=gcc
    if [[ $version == *-musl ]]; then
        compiler=$folder/work-$version/compiler
        # shellcheck disable=SC2016  # for sh; musl-gcc gives the name of the machine's own C library
        printf '#!/bin/sh\n[ "$1" = --print-multiarch ] && exec echo x86_64-linux-musl\nexec musl-gcc "$@"\n' >"$compiler"
        chmod +x "$compiler"
        options+=(--host=x86_64-linux-musl --build="$(gcc -dumpmachine)" --disable-ipv6
                  --with-build-python="$(scripts/python-interpreter.sh "$number" "$folder")"
                  ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no)
        export PKG_CONFIG_LIBDIR=/nonexistent  # no library of this machine
    fi
    cd "$folder/work-$version"
    if [[ $version == *-tsan ]]; then
        compiler=clang-19
        options+=(--with-thread-sanitizer)
        export TSAN_OPTIONS=report_bugs=0  # the build runs what it has made
    fi
    if command -v ccache; then compiler="ccache $compiler"; fi
    unset MAKEFLAGS  # has VERSION=3.14t where somebody has said that to make, and Python's own makefiles have a VERSION
    ./configure "${options[@]}" CC="$compiler"
    make -j "$(nproc)"
    make altinstall
    cp Tools/tsan/suppressions_free_threading.txt "$folder/$version" || true  # Python 3.11 has none
    cd "$folder"
    rm -rf "$folder/work-$version" "$link"
}

exec 3>&2
trap 'echo "Python $version is not on PATH, and could not be built from Debian'"'"'s source: see $folder/$version.log" >&3' ERR
set -E
mkdir -p "$folder"
build >"$folder/$version.log" 2>&1
echo "$built"
