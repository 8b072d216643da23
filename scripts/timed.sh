#!/bin/bash
# timed.sh NAME COMMAND...: runs the command, and adds a line to build/times.txt: its name, and its seconds by the clock, of the
# processor in the program, and of the processor in the system.
set -uo pipefail

name=$1
shift
mkdir -p build
TIMEFORMAT=$'%R\t%U\t%S'
{ time "$@" 2>&3; } 3>&2 2>build/time.part
status=$?
printf '%s\t%s\n' "$name" "$(tail -n 1 build/time.part)" >>build/times.txt
rm -f build/time.part
exit "$status"
