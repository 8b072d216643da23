#!/bin/bash
# stops.sh PROGRAM CASE MESSAGE: the program stops with an error, which has the message, and gets no further.
set -uo pipefail

output=$("$1" "$2" 2>&1)
status=$?
head -n 3 <<<"$output"
if ((status == 0)); then
    echo "it did not stop" >&2
    exit 1
fi
grep -q "ERROR STOP:\? .*$3" <<<"$output" && ! grep -q "came to the end" <<<"$output"
