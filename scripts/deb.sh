#!/bin/bash
# deb.sh FOLDER: Debian packages of this tree, into FOLDER, checked by lintian, installed and used.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(realpath -m "$1")
UNIBUF_PYTHON=$PWD/build/venv/bin/python
DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)"
CCACHE_DIR=${CCACHE_DIR:-$HOME/.cache/ccache}  # debhelper gives the build a HOME that goes with it
export UNIBUF_PYTHON DEB_BUILD_OPTIONS CCACHE_DIR

packaged=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
if ! grep -qF "project(unibuf VERSION $packaged " CMakeLists.txt; then
    echo "packaging/debian/changelog is of version $packaged, and CMakeLists.txt of another" >&2
    exit 1
fi
rm -rf "$folder"
mkdir -p "$folder"
work=$folder
if [[ $work == *' '* ]]; then  # dpkg's flags name it, and have no spaces in names
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
tree=$work/unibuf
mkdir "$tree"
git ls-files -z --cached --others --exclude-standard | tar --null -cT - | tar -xC "$tree"
cp -r packaging/debian "$tree"
# nanobind comes from PyPI, so what Debian would look for is not asked for by name.
(cd "$tree" && dpkg-buildpackage --build=binary --no-sign --no-check-builddeps) >"$folder/build.log" 2>&1 ||
    { tail -n 40 "$folder/build.log" >&2; exit 1; }
[[ $work == "$folder" ]] || mv "$work"/*.* "$folder"
lintian --fail-on error "$folder"/*.changes

# They are installed into a Debian of their own, by apt with all that they depend on, and used there.
rm "$folder"/*-dbgsym_*.deb
(cd "$folder" && dpkg-scanpackages --multiversion . /dev/null >Packages)
programs=$folder/programs
mkdir "$programs"
cp -r tests/package/consumer tests/package/c_consumer tests/package/debian.sh "$programs"
for sources in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
    [[ ! -e $sources ]] || break
done
# shellcheck disable=SC1091,SC2016  # mmdebstrap gives hooks the root as $1
mmdebstrap --variant=apt --include=g++,cmake,make,pkg-config,libunibuf-dev,python3-unibuf,unibuf-tools \
    --customize-hook="copy-in '$programs' /root" --customize-hook='chroot "$1" bash /root/programs/debian.sh' \
    "$(. /etc/os-release && echo "$VERSION_CODENAME")" /dev/null "$sources" "deb [trusted=yes] copy:${folder// /%20} ./"
ls "$folder"/*.deb
