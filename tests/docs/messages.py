#!/usr/bin/env python3
"""messages.py ROOT: whether docs/errors.md is true of the sources.

It has a section for each error, with its names in each language. The messages that it quotes are made of strings of the
sources, three words at least of each, or are what the block below provokes.
"""

import re
import sys
from pathlib import Path

SECTION = re.compile(r"^## (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"^### (`+)([^\n]*)\1\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PLACEHOLDER = re.compile(r"<[^>]*>|[\[\]]")
SEAM = re.compile(r'"\s*\+?\s*[fr]?"')  # between the lines of one string
CODE = re.compile(r"^    (\w+),\s+//", re.MULTILINE)
PYTHON = re.compile(r"^class (\w+)\(UnibufError, (\w+)\):\n.*?^    code = \"(\w+)\"", re.MULTILINE | re.DOTALL)


def sources(root):
    files = [each for of in ("src", "include", "cli", "bindings") for each in (root / of).rglob("*.*")]
    text = "\n".join(each.read_text() for each in files if each.suffix in (".cpp", ".hpp", ".py"))
    return SEAM.sub("", text)


def unknown(part, known):
    """What is left of a part of a message after the longest pieces that are known."""
    while words := list(re.finditer(r"\w+", part)):
        ends = [each.end() for each in words[min(len(words), 3) - 1 :]]
        fitting = [end for end in ends if part[words[0].start() : end] in known]
        if not fitting:
            return part
        part = part[max(fitting) :]
    return ""


def main(root):
    sections = dict(SECTION.findall((root / "docs/errors.md").read_text()))
    code = (root / "include/unibuf/error.hpp").read_text()
    codes = CODE.findall(code[: code.index("};")])
    classes = {
        of: (name, built_in)
        for name, built_in, of in PYTHON.findall((root / "bindings/python/unibuf/errors.py").read_text())
    }
    assert len(codes) == 10 and set(classes) == set(codes), "the codes are written in another way now"
    found = [] if list(sections) == [*codes, "notes"] else [f"the sections are {', '.join(sections)}"]
    for each in codes:
        name, built_in = classes[each]
        for other in (
            f"error_code::{each}",
            f"UNIBUF_{each.upper()}",
            f"STATUS_{each.upper()}",
            f"`{name}` (a",
            built_in,
        ):
            if other not in sections.get(each, ""):
                found.append(f"the section {each} does not name {other}")
    known = sources(root)
    quoted = [each for text in sections.values() for each in QUOTED.findall(text)]
    assert len(quoted) > 50, "the messages are quoted in another way now"
    for _, message, below in quoted:
        provoked = "".join(BLOCK.findall(below))
        for part in PLACEHOLDER.split(message):
            if part not in provoked and (rest := unknown(part, known)):
                found.append(f"no source says {rest!r} of {message!r}")
    print("\n".join(found) or f"{len(quoted)} messages of {len(codes)} errors are as they are printed")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
