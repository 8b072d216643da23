#!/usr/bin/env python3
"""names.py ROOT: whether each guide names every public type of its language.

The Fortran guide has to name every procedure, with its arguments, and every constant, with its value.
"""

import re
import sys
from pathlib import Path

CPP_TYPE = re.compile(r"^(?:class|struct|enum class|using) (?:UNIBUF_API )?(\w+)(?!\w*;)", re.MULTILINE)
DETAIL = re.compile(r"namespace (?:\w+::)*detail \{.*?^\}(?!;)", re.DOTALL | re.MULTILINE)
C_TYPE = re.compile(r"^(?:\} (unibuf_\w+);|typedef .*?(unibuf_\w+)(?: \{|;))", re.MULTILINE)
FORTRAN_NAMES = re.compile(r"^  public :: (.*)$", re.MULTILINE)
FORTRAN_PROCEDURE = re.compile(r"^    (?:function|subroutine) (\w+)\(", re.MULTILINE)
INSIDE = {"report", "put_message"}  # of unibuf_reports, which no program uses
BEGIN = re.compile(r"^ +(?:\w+(?:\(\w+\))? )?(?:function|subroutine) (\w+)\(([^)]*)\)")
END = re.compile(r"^ +end (?:function|subroutine)")
OPTIONAL = re.compile(r"optional.*? :: (.*)")
CONSTANT = re.compile(r"enumerator :: (\w+) = (\d+)")
GENERIC = {
    "acquire_lease": "acquire_buffer",
    "acquire_from_pool": "acquire_buffer",
    "release_lease": "release_buffer",
    "release_to_pool": "release_buffer",
}


def text_of(files):
    return "\n".join(file.read_text() for file in sorted(files))


def missing(names, guide):
    words = set(re.findall(r"\w+", guide.read_text()))
    return [f"{guide.name} does not name {name}" for name in sorted(names) if name not in words]


def calls(text):
    """The procedures of a module as the guide shows them: "find_buffer(name)", with optional arguments in brackets."""
    lines = iter(re.sub(r"&\n *", "", text).splitlines())
    for line in lines:
        if not (begin := BEGIN.match(line)):
            continue
        optional = set()
        for inner in lines:
            if END.match(inner):
                break
            if some := OPTIONAL.search(inner):
                optional |= set(re.findall(r"\w+", some[1]))
        arguments = [each for each in re.findall(r"\w+", begin[2]) if each not in ("stat", "errmsg")]
        shown = ", ".join(f"[{each}]" if each in optional else each for each in arguments)
        yield GENERIC.get(begin[1], begin[1]), f"`{GENERIC.get(begin[1], begin[1])}({shown})`"


def main(root):
    headers, modules = root / "include/unibuf", root / "bindings/fortran"
    cpp = set(CPP_TYPE.findall(DETAIL.sub("", text_of(headers.glob("*.hpp")))))
    c = {first or second for first, second in C_TYPE.findall(text_of(headers.glob("*.h")))}
    fortran = set(re.findall(r"\w+", " ".join(FORTRAN_NAMES.findall(text_of(modules.glob("*.f90"))))))
    fortran |= set(FORTRAN_PROCEDURE.findall((modules / "gpu_unified_buffers.f90").read_text()))
    assert len(cpp) > 40 and len(c) > 30 and len(fortran) > 40, "the declarations are written in another way now"
    found = missing(cpp, root / "docs/cpp.md") + missing(c, root / "docs/c.md")
    guide = root / "docs/fortran.md"
    found += missing(fortran - INSIDE, guide)
    rows = [call for name, call in calls(text_of(modules.glob("*.f90"))) if name in fortran - INSIDE]
    rows += [
        f"| `{name}` | {value} |" for name, value in CONSTANT.findall((modules / "gpu_buffer_types.f90").read_text())
    ]
    assert len(rows) > 75, "the modules are written in another way now"
    found += [f"{guide.name} has no row {row}" for row in rows if row not in guide.read_text()]
    print("\n".join(found) or f"{len(cpp)} types of C++, {len(c)} of C and {len(fortran)} names of Fortran are named")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
