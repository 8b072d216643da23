#!/bin/bash
# install.sh BUILD SOURCE: `make install` installs into a folder of any name, and only what it is asked for; it calls nothing
# that installs packages. What it installs is BUILD's: here it configures and builds nothing.
set -euo pipefail

build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
said=$work/said

mkdir "$work/bin"
cmake=$(command -v cmake)
cat >"$work/bin/cmake" <<SCRIPT
#!/bin/bash
if [[ \$1 == --install ]]; then exec "$cmake" --install "$build" "\${@:3}"; fi
echo "cmake \$*"
SCRIPT
for tool in apt-get sudo dpkg-query; do printf '#!/bin/bash\necho "%s $*"\nexit 1\n' $tool >"$work/bin/$tool"; done
chmod +x "$work"/bin/*
export PATH=$work/bin:$PATH

# install ARGUMENT...: what make says is in the file that $said names.
install() { make -C "$source" --no-print-directory install "$@" >"$said" 2>&1; }

for prefix in "$work/plain" "$work/it's my prefix" "$(realpath --relative-to="$source" "$work")/relative"; do
    install PREFIX="$prefix"
    found=$(cd "$source" && find "$prefix" -name unibuf.pc)
    echo "$found"
    [[ $found ]]
done
grep -q 'UNIBUF_C=ON .*UNIBUF_FORTRAN=AUTO .*UNIBUF_TOOLS=AUTO' "$said"
! grep -E 'apt-get|sudo|dpkg' "$said" || exit 1

install PREFIX="$work/c" COMPONENTS=c
grep -q 'UNIBUF_C=ON .*UNIBUF_FORTRAN=OFF .*UNIBUF_TOOLS=OFF' "$said"
install PREFIX="$work/fortran" COMPONENTS="fortran tool"
grep -q 'UNIBUF_C=OFF .*UNIBUF_FORTRAN=ON .*UNIBUF_TOOLS=ON' "$said"
! install PREFIX="$work/none" COMPONENTS="c rust" || exit 1
grep -q 'COMPONENTS is some of: c++ c fortran tool' "$said"
