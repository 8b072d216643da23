#!/bin/bash
# no-shell.sh: fails where a source of the tree gives a text to a shell, by popen, system or their like: a name or an address of
# others that is in the text is then a command. posix_spawn and subprocess.run take words.
set -euo pipefail
cd "$(dirname "$0")/.."

calls='(^|[^[:alnum:]_.])(popen|system)[[:space:]]*\(|\bos\.(popen|system)\b|shell[[:space:]]*=[[:space:]]*True|execute_command_line'
git rev-parse --verify --quiet HEAD >/dev/null || { echo 'no-shell: this is no git repository' >&2; exit 1; }
if git grep --untracked -nE "$calls" -- '*.[ch]' '*.[ch]pp' '*.inc' '*.in' '*.py' '*.pyi' '*.ipynb' '*.f90' '*.F90' '*.fypp'; then
    echo 'no-shell: the lines above run a shell; start the program by its words instead (posix_spawn, subprocess.run)' >&2
    exit 1
fi
