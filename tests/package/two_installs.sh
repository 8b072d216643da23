#!/bin/bash
# two_installs.sh BUILD CC OTHER OTHER_C: a process has one unibuf. A plugin that was built with another install of the same
# version shares the program's; one that was built with another version, of the libraries OTHER and OTHER_C, is refused. So
# is one that comes after a Python module with the library inside.
set -euo pipefail

build=$1 compiler=$2 other=$3 other_c=$4
here=$(dirname "$(realpath "$0")")/two_installs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >/dev/null
first=$(dirname "$(find "$work/first" -name libunibuf.so)")
cp -r "$work/first" "$work/same"
mkdir "$work/other"
cp -P "${other%.so*}".so* "${other_c%.so*}".so* "$work/other"

# link FOLDER OPTION...: with the libraries that are there.
link() {
    "$compiler" -std=c11 -Wall -Werror -I"$work/first/include" "${@:2}" -L"$1" -lunibuf_c -Wl,-rpath,"$1"
}
link "$first" "$here/program.c" -o "$work/program"
link "$work/same${first#"$work/first"}" -shared -fPIC "$here/plugin.c" -o "$work/same.so"
link "$work/other" -shared -fPIC "$here/plugin.c" -o "$work/other.so"

echo "the same version:"
"$work/program" "$work/same.so" | tee "$work/said"
grep -qx 'the plugin finds 5' "$work/said"
echo "another version:"
"$work/program" "$work/other.so" | tee "$work/said"
grep -q "^the plugin is refused: .*one unibuf: $first/libunibuf.*$work/other/libunibuf" "$work/said"
grep -qx 'the program finds 5' "$work/said"

"$compiler" "$here/loader.c" -o "$work/loader" -ldl
"$compiler" -shared -x c - -o "$work/_native.inside.so" <<<'const char unibuf_is_inside = 1;'
"$compiler" -shared -x c - -o "$work/_native.beside.so" <<<'const char another = 1;'
echo "after a Python module with the library inside:"
"$work/loader" "$work/_native.inside.so" "$work/same.so" | tee "$work/said"
grep -q "^the plugin is refused: .*one unibuf: $work/_native.inside.so was loaded before" "$work/said"
echo "after another module of that name:"
"$work/loader" "$work/_native.beside.so" "$work/same.so" | tee "$work/said"
grep -q "^the plugin" "$work/said"
if grep -q "one unibuf" "$work/said"; then exit 1; fi
