#!/usr/bin/env python3
"""as_written.py DOCUMENT SOURCE...: whether the sources have every line of the document's Fortran, as written.

Each block has to be in one of the sources, line after line; between them there may be more, where the document leaves
something open. A "..." in a line stands for anything. Without the document there is nothing to compare with: it ends
with 77.
"""

import re
import sys
from pathlib import Path

BLOCK = re.compile(r"^```fortran\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def bare(line):
    return " ".join(line.split())


def missing(block, source):
    """The first line of the block that the source does not have after those before it."""
    rest = iter(source)
    for line in block:
        pattern = re.compile(".*".join(map(re.escape, line.split("..."))))
        if not any(pattern.fullmatch(each) for each in rest):
            return line
    return None


def main(document, *sources):
    if not Path(document).is_file():
        print(f"SKIP: the design document is not here: {document}")
        return 77
    text = Path(document).read_text()
    blocks = [[bare(line) for line in block.splitlines() if line.strip()] for block in BLOCK.findall(text)]
    texts = {name: [bare(line) for line in Path(name).read_text().splitlines()] for name in sources}
    failures = 0
    for number, block in enumerate(blocks, 1):
        lacks = {name: missing(block, text) for name, text in texts.items()}
        found = [Path(name).name for name, line in lacks.items() if line is None]
        print(f"block {number}, {len(block)} lines, {block[0]!r}: {', '.join(found) or 'NOWHERE'}")
        if not found:
            failures += 1
            for name, line in lacks.items():
                print(f"    {Path(name).name} lacks {line!r}")
    print(f"{len(blocks)} blocks, {failures} not as written")
    return 1 if failures or not blocks else 0


sys.exit(main(*sys.argv[1:]))
