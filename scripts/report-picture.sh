#!/bin/bash
# report-picture.sh BUILD: makes docs/report.png, the picture of a report, with the browser chromium-headless-shell.
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/.."
picture=$PWD/docs/report.png
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
c++ -std=c++20 -O2 -g -ffile-prefix-map="$PWD/tests/cli/=" -I include tests/cli/faults.cpp -L "$build" -lunibuf \
    -Wl,-rpath,"$build" -o "$folder/solver"
cd "$folder"
UNIBUF_TRACE=solver.trace UNIBUF_TRACE_CLOSE=1 ./solver round_trip
"$build/cli/unibuf" report solver.trace -o page.html
chromium-headless-shell --no-sandbox --disable-gpu --hide-scrollbars --blink-settings=preferredColorScheme=1 \
    --virtual-time-budget=5000 --window-size=900,1400 --screenshot="$picture" "file://$folder/page.html"
