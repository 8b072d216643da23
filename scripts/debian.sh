# shellcheck shell=bash
# debian.sh: what Debian has for other machines and in other releases. To be sourced.

# own_apt FOLDER TYPE SUITE ARCHITECTURE: sets `apt` to an apt-get with lists in FOLDER, for which nothing is installed:
# what this machine has stays as it is. TYPE is deb or deb-src. `mirror` is set to its address. Its lists may be old.
own_apt() {
    local at=$1 type=$2 suite=$3 architecture=$4
    # shellcheck disable=SC2016  # apt's own
    mirror=$(apt-get indextargets --format '$(SITE)' 'Identifier: Packages' | head -1)
    mkdir -p "$at/lists/partial" "$at/archives/partial"
    echo "$type [check-valid-until=no] $mirror $suite main" >"$at/sources.list"
    : >"$at/status"
    # shellcheck disable=SC2034  # for the caller
    apt=(apt-get -q -y -o "Dir::Etc::SourceList=$at/sources.list" -o Dir::Etc::SourceParts=/dev/null
         -o "Dir::State::Lists=$at/lists" -o "Dir::Cache=$at" -o "Dir::State::status=$at/status"
         -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o APT::Sandbox::User=root)
    "${apt[@]}" update
}

# unpack_packages ROOT SUITE ARCHITECTURE PACKAGE...: the packages and all that they need, unpacked into ROOT.
unpack_packages() {
    local root=$1 suite=$2 architecture=$3 package apt mirror
    shift 3
    own_apt "$root/apt" deb "$suite" "$architecture"
    "${apt[@]}" install --download-only --no-install-recommends "$@"
    for package in "$root"/apt/archives/*.deb; do dpkg-deb -x "$package" "$root"; done
    ln -sfn usr/lib "$root/lib"
}
