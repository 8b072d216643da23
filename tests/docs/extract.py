#!/usr/bin/env python3
"""extract.py OUTPUT ROOT DOCUMENT...: writes the code blocks of Markdown documents to files, and OUTPUT/blocks.cmake.

Files and tests are named by the document's path below ROOT, without docs/; a README.md by its folder.

A ```cpp, ```c, ```fortran or ```python block is a program; one of C++ or C without `int main` or a namespace of its own
is put into a main, in C after a function `must` that ends the program where a call failed, if the block uses that. A
```sh block is run by shell.sh, from an installed tree; where it says app.cpp, app.c or app.f90, that is the first such
program of the document. A comment before the block changes that: `<!-- continues -->` joins it to the last one of its
language, `<!-- slow.cpp -->` gives a program a name, by which ```sh blocks have it, `<!-- compile only -->` leaves one
unrun, and `<!-- not run: why -->` a ```sh block: it becomes a test that is skipped, with the reason. Commands
that no test would see, because they are only indented, are refused.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

SUFFIX = {"c": "c", "cpp": "cpp", "fortran": "f90", "python": "py", "sh": "sh"}
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (.*?) -->\s*\Z")
NOT_RUN = "not run: "
NAME = re.compile(r"\w+\.(cpp|c|f90)")
COMMAND = re.compile(
    r"^ {4}(?:(?:make|cmake|ctest|pip|export|cc|g\+\+|gcc|gfortran|python3?|unibuf) |build/|scripts/)", re.M
)
INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)
WHOLE = re.compile(r"^(int main|namespace )", re.MULTILINE)
C_HEADERS = """\
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unibuf/unibuf.h>
"""
MUST = """\
static void must(unibuf_status status) {
    if (status == UNIBUF_OK) return;
    fprintf(stderr, "%s: %s\\n", unibuf_status_name(status), unibuf_message());
    exit(1);
}
"""
HEADERS = """\
#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <unibuf/unibuf.hpp>
#include <vector>
"""


@dataclass
class Block:
    kind: str  # run, compile, python, shell or skip
    suffix: str
    source: str
    name: str | None  # which its document gave it


def blocks(document):
    """The code blocks of a document."""
    text = document.read_text()
    if hidden := COMMAND.search(BLOCK.sub(lambda block: "\n" * block.group().count("\n"), text)):
        line = text.count("\n", 0, text.index(hidden.group())) + 1
        sys.exit(f"{document}:{line}: commands belong into a ```sh block, which is run")
    result = []
    last = {}  # block of each language
    for block in BLOCK.finditer(text):
        language, body = block.groups()
        mark = MARK.search(text[: block.start()])
        mark = mark.group(1) if mark else ""
        line = text.count("\n", 0, block.start()) + 2
        if language not in SUFFIX:
            continue
        if language in ("c", "cpp"):
            body = f'#line {line} "{document}"\n{body}'
        if mark == "continues":
            last[language].source += body
            continue
        kind = {"python": "python", "sh": "shell"}.get(language, "compile" if mark == "compile only" else "run")
        if mark.startswith(NOT_RUN):
            kind, body = "skip", f"echo 'SKIP: {document.name}:{line} is not run: {mark[len(NOT_RUN) :]}'; exit 77\n"
        last[language] = Block(kind, SUFFIX[language], body, mark if NAME.fullmatch(mark) else None)
        result.append(last[language])
    return result


def program(kind, suffix, source):
    if WHOLE.search(source):
        return ("run" if kind == "run" and "int main" in source else "compile"), source
    includes = "\n".join(INCLUDE.findall(source))
    headers, arguments = (C_HEADERS, "void") if suffix == "c" else (HEADERS, "")
    must = MUST if suffix == "c" and "must(" in source else ""
    return kind, f"{headers}{includes}\n{must}int main({arguments}) {{\n{INCLUDE.sub('', source)}}}\n"


def write(path, text):
    if not path.exists() or path.read_text() != text:  # what has not changed is not compiled again
        path.write_text(text)


def name_of(document, root):
    parts = document.relative_to(root).with_suffix("").parts
    if len(parts) > 1 and parts[-1] == "README":
        parts = parts[:-1]
    if len(parts) > 1 and parts[0] == "docs":
        parts = parts[1:]
    return "_".join(parts)


def main(output, root, *documents):
    calls = []
    for document in map(Path, documents):
        written = []
        programs = {}  # by the name that ```sh blocks have them by
        for number, block in enumerate(blocks(document), 1):
            name = f"{name_of(document, root)}_{number}"
            if block.suffix in ("c", "cpp"):
                block.kind, block.source = program(block.kind, block.suffix, block.source)
            path = Path(output, f"{name}.{block.suffix}")
            write(path, block.source)
            written.append((block, name, path))
            if block.kind == "run":
                programs.setdefault(block.name or f"app.{block.suffix}", path)
        for block, name, path in written:
            words = [block.kind, name, path]
            for app, of in programs.items():
                if block.kind == "shell" and f"{app} " in block.source:
                    words += [app, of]
            calls.append("add_block(" + " ".join(f"[[{word}]]" for word in words) + ")\n")
    write(Path(output, "blocks.cmake"), "".join(calls))


main(*sys.argv[1:])
