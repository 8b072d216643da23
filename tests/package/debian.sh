#!/bin/bash
# debian.sh: where the packages of make deb are installed: runs the tool and Python, and builds and runs programs in C++ and C.
set -euo pipefail

unibuf --version
unibuf devices
dpkg -L unibuf-tools | grep /man1/
python3 - <<'PYTHON'
import importlib.metadata
import unibuf

buffer = unibuf.UnifiedBuffer(3, device="debug:0").fill(2)
buffer.sync_to_device()
print("python:", buffer.host.sum(), unibuf.__version__)
found = importlib.metadata.distribution("unibuf-python")
print("metadata:", found.metadata["Name"], found.version, *sorted(each.name for each in found.entry_points))
assert found.version == unibuf.__version__ and buffer.host.sum() == 6
PYTHON
work=$(mktemp -d)
cd "$(dirname "$0")"
for consumer in consumer c_consumer; do
    cmake -S $consumer -B "$work/$consumer" >"$work/log" || { cat "$work/log" && exit 1; }
    cmake --build "$work/$consumer"
    "$work/$consumer/consumer"
done
read -ra flags < <(pkg-config --cflags --libs unibuf-c)
gcc c_consumer/main.c "${flags[@]}" -o "$work/program"
"$work/program"
