#!/bin/bash
# man-pages.sh UNIBUF FOLDER: the manual pages of the tool and of each subcommand, from their help.
set -euo pipefail

folder=$(realpath -m "$2")
# help2man splits what it runs at spaces, which the path may have.
cd "$(dirname "$1")"
tool=./$(basename "$1")
version=$("$tool" --version)
mkdir -p "$folder"
mapfile -t subcommands < <("$tool" --help | sed -n '/^Subcommands:/,$ s/^  \([a-z]\+\) .*/\1/p')
others=$(printf '.BR unibuf-%s (1),\n' "${subcommands[@]}")

# page NAME [SUBCOMMAND]: the first line of the help says what it is for.
page() {
    local name=$1 what
    what=$("$tool" "${@:2}" --help | head -n 1)
    help2man --no-info --version-string="$name ${version#* }" --source="$version" --name="${what%%[.:;]*}" \
        --include=<(printf '[see also]\n%s\n' "${others%,}") --output="$folder/$name.1" "$tool${2+ $2}"
}

page unibuf
for each in "${subcommands[@]}"; do page "unibuf-$each" "$each"; done
