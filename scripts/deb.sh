#!/bin/bash
# deb.sh FOLDER: Debian packages of this tree, into FOLDER, checked by lintian, and used from where they are unpacked.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=$(realpath -m "$1")
UNIBUF_PYTHON=$PWD/build/venv/bin/python
DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)"
export UNIBUF_PYTHON DEB_BUILD_OPTIONS

packaged=$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)
if ! grep -qF "project(unibuf VERSION $packaged " CMakeLists.txt; then
    echo "packaging/debian/changelog is of version $packaged, and CMakeLists.txt of another" >&2
    exit 1
fi
rm -rf "$folder"
tree=$folder/unibuf
mkdir -p "$tree"
git ls-files -z --cached --others --exclude-standard | tar --null -cT - | tar -xC "$tree"
cp -r packaging/debian "$tree"
# nanobind comes from PyPI, so what Debian would look for is not asked for by name.
(cd "$tree" && dpkg-buildpackage --build=binary --no-sign --no-check-builddeps) >"$folder/build.log" 2>&1 ||
    { tail -n 40 "$folder/build.log" >&2; exit 1; }
lintian --fail-on error "$folder"/*.changes

# The packages are used where they are unpacked: the tool, Python, and programs in C++ and C.
root=$folder/root
for package in "$folder"/*.deb; do
    case $package in *-dbgsym_*) continue ;; esac
    dpkg-deb -x "$package" "$root"
done
libraries=$root/usr/lib/$(gcc -print-multiarch)
export LD_LIBRARY_PATH=$libraries
"$root/usr/bin/unibuf" --version
PYTHONPATH=$root/usr/lib/python3/dist-packages "$UNIBUF_PYTHON" -c 'import unibuf
b = unibuf.UnifiedBuffer(3, device="debug:0").fill(2)
b.sync_to_device()
print("python:", b.host.sum(), unibuf.__version__)'
"$UNIBUF_PYTHON" - "$root/usr/lib/python3/dist-packages" <<'PYTHON'
import importlib.metadata as metadata, sys
found = next(metadata.distributions(path=[sys.argv[1]]))
print("metadata:", found.metadata["Name"], found.version, *sorted(each.name for each in found.entry_points))
PYTHON
for consumer in consumer c_consumer; do
    cmake -S "tests/package/$consumer" -B "$folder/$consumer" -D CMAKE_PREFIX_PATH="$root/usr" >/dev/null
    cmake --build "$folder/$consumer" >/dev/null
    "$folder/$consumer/consumer"
done
ls "$folder"/*.deb
