#!/usr/bin/env python3
"""names.py ROOT: whether each guide names every public type of its language, and the Fortran guide every procedure."""

import re
import sys
from pathlib import Path

CPP_TYPE = re.compile(r"^(?:class|struct|enum class|using) (?:UNIBUF_API )?(\w+)(?!\w*;)", re.MULTILINE)
DETAIL = re.compile(r"namespace detail \{.*?^\}", re.DOTALL | re.MULTILINE)
C_TYPE = re.compile(r"^(?:\} (unibuf_\w+);|typedef .*?(unibuf_\w+)(?: \{|;))", re.MULTILINE)
FORTRAN_NAMES = re.compile(r"^  public :: (.*)$", re.MULTILINE)
FORTRAN_PROCEDURE = re.compile(r"^    (?:function|subroutine) (\w+)\(", re.MULTILINE)
INSIDE = {"report", "put_message"}  # of unibuf_reports, which no program uses


def text_of(files):
    return "\n".join(file.read_text() for file in sorted(files))


def missing(names, guide):
    words = set(re.findall(r"\w+", guide.read_text()))
    return [f"{guide.name} does not name {name}" for name in sorted(names) if name not in words]


def main(root):
    headers, modules = root / "include/unibuf", root / "bindings/fortran"
    cpp = set(CPP_TYPE.findall(DETAIL.sub("", text_of(headers.glob("*.hpp")))))
    c = {first or second for first, second in C_TYPE.findall(text_of(headers.glob("*.h")))}
    fortran = set(re.findall(r"\w+", " ".join(FORTRAN_NAMES.findall(text_of(modules.glob("*.f90"))))))
    fortran |= set(FORTRAN_PROCEDURE.findall((modules / "gpu_unified_buffers.f90").read_text()))
    assert len(cpp) > 40 and len(c) > 30 and len(fortran) > 40, "the declarations are written in another way now"
    found = missing(cpp, root / "docs/cpp.md") + missing(c, root / "docs/c.md")
    found += missing(fortran - INSIDE, root / "docs/fortran.md")
    print("\n".join(found) or f"{len(cpp)} types of C++, {len(c)} of C and {len(fortran)} names of Fortran are named")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
