# shellcheck shell=bash
# zig.sh: functions of scripts that compile for other systems, which source it.

# headers_of FOLDER PACKAGE...: the files of Debian's packages, alone: the headers beside them are this machine's own.
headers_of() {
    local folder=$1
    shift
    mkdir -p "$folder"
    dpkg -L "$@" | tar --no-recursion -cT - 2>/dev/null | tar -xC "$folder"
}

# python_headers FOLDER: those of this machine's Python, alone.
python_headers() {
    local from own
    from=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
    own=$(python3 -c 'import sysconfig; print(sysconfig.get_config_h_filename())')
    rm -rf "$1"
    cp -rL "$from" "$1"
    # Debian's is one line, which includes that of the processor.
    find "/usr/include/$(gcc -print-multiarch)" -path "*${own#/usr/include}" -exec cp {} "$1/pyconfig.h" \;
}

# config_in FOLDER NAME: where there is NAME.cmake.
config_in() { dirname "$(find "$1" -name "$2.cmake")"; }

# compilers_for ZIG TARGET FOLDER: what CMake takes for the compiler, in a folder. zig instruments what is not optimized.
compilers_for() {
    local zig=$1 target=$2 folder=$3
    mkdir -p "$folder"
    # shellcheck disable=SC2016  # for sh
    printf '#!/bin/sh\nexec %q "${0##*/}" "$@"\n' "$zig" | tee "$folder/ar" >"$folder/ranlib"
    # shellcheck disable=SC2016
    printf '#!/bin/sh\nexec %q "${0##*/}" -target %q -fno-sanitize=undefined "$@"\n' "$zig" "$target" | tee "$folder/cc" >"$folder/c++"
    chmod +x "$folder"/*
}

# links_modules COMPILER: lets it link modules for macOS. zig's linker makes no bundles, in whose place Python takes a library
# too, and does not read the file in which nanobind lists what Python will have.
links_modules() {
    # shellcheck disable=SC2016  # for sh
    sed -i '2i for each; do shift; case $each in -bundle) each=-shared ;; -Wl,@*) each=-Wl,-undefined,dynamic_lookup ;; esac; set -- "$@" "$each"; done' "$1"
}
