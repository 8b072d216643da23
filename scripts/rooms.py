#!/usr/bin/env python3
"""rooms.py: holds the sources against the table of rooms in docs/inside.md: a folder of src/ uses those below it alone,
each source says in its first line what it is for, and none is longer than 400 lines. Ends with 1 where something does
not hold."""

import re
import sys
from pathlib import Path

MOST_LINES = 400
ROOM = re.compile(r"^\| `src/(\w+)` \|", re.MULTILINE)
INCLUDE = re.compile(r'^#include "(\w+)/[^"]+"', re.MULTILINE)
SUFFIXES = {".cpp", ".hpp"}


def main() -> int:
    root = Path(__file__).parent.parent
    height = {room: -place for place, room in enumerate(ROOM.findall((root / "docs/inside.md").read_text()))}
    wrong = [f"docs/inside.md: there is no room src/{room}" for room in height if not (root / "src" / room).is_dir()]
    for source in sorted(path for path in (root / "src").rglob("*") if path.suffix in SUFFIXES):
        text = source.read_text()
        name = str(source.relative_to(root / "src"))
        room = name.split("/")[0] if "/" in name else ""
        if room not in height:
            wrong.append(f"src/{name}: lies in no room of docs/inside.md")
            continue
        for used in sorted(set(INCLUDE.findall(text)) & set(height) - {room}):
            if height[used] >= height[room]:
                wrong.append(f"src/{name}: uses src/{used}, which is not below src/{room} in docs/inside.md")
        if not re.match(rf"// {re.escape(name)}: \w", text):
            wrong.append(f'src/{name}: begins with "// {name}: " and what it is for')
        if (lines := text.count("\n")) > MOST_LINES:
            wrong.append(f"src/{name}: has {lines} lines; {MOST_LINES} at most")
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
