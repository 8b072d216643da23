#!/usr/bin/env python3
"""reference.py ROOT OBJECTS: whether the site's reference has every public name of each language."""

import re
import sys
from pathlib import Path

import names
from sphinx.util.inventory import InventoryFile

CPP_OTHERS = re.compile(r"^(?:UNIBUF_API [^\n=]*?(\w+)\(|inline constexpr [\w:]+ (\w+))", re.MULTILINE)
C_CONSTANT = re.compile(r"^(?:#define|typedef UNIBUF_C_ENUM\(\w+\)\{|   ) *(UNIBUF_[A-Z0-9_]+)\b(?!\()", re.MULTILINE)
NOT_OF_USERS = {"UNIBUF_C_API"}


def public_names(root):
    """The names of each language, as the domains of Sphinx are called."""
    headers, modules = root / "include/unibuf", root / "bindings/fortran"
    cpp = names.DETAIL.sub("", names.text_of(headers.glob("*.hpp")))
    others = {function or constant for function, constant in CPP_OTHERS.findall(cpp)}
    yield "cpp", set(names.CPP_TYPE.findall(cpp)) | others
    c = names.text_of(headers.glob("*.h"))
    types = {first or second for first, second in names.C_TYPE.findall(c)}
    symbols = set((root / "tests/package/c-symbols.txt").read_text().split())
    yield "c", types | symbols | (set(C_CONSTANT.findall(c)) - NOT_OF_USERS)
    fortran = names.text_of({*modules.glob("gpu_*"), modules / "mpi/unibuf_mpi.f90"})
    listed = re.findall(r"\b\w+\b(?![$}])", ", ".join(names.FORTRAN_NAMES.findall(fortran)))
    declared = names.FORTRAN_PROCEDURE.findall((modules / "gpu_unified_buffers.f90").read_text())
    yield "f", {*listed, *declared, *dict(names.CONSTANT.findall(fortran))}
    yield "py", set(python_names())


def python_names():
    """What the package names in __all__, and the members of its classes; some descriptors say that there is none."""
    import unibuf

    for name in set(unibuf.__all__) - {"__version__"}:
        yield f"unibuf.{name}"
        found = getattr(unibuf, name)
        for owner in found.__mro__ if isinstance(found, type) else ():
            if owner.__module__.startswith("unibuf"):
                members = (member for member in vars(owner) if not member.startswith("_"))
                yield from (f"unibuf.{name}.{member}" for member in members if hasattr(found, member))


def main(root, objects):
    found = {}
    for kind, entries in InventoryFile.load(objects.open("rb"), "", lambda base, to: to).items():
        domain = found.setdefault(kind.partition(":")[0], set())
        for name in entries if "Param" not in kind else ():
            domain.update([name, re.split(r"\W+", name)[-1]])
    missing = []
    for domain, wanted in public_names(root):
        assert len(wanted) > 40, f"the declarations of {domain} are written in another way now"
        missing += [f"the reference has no {name}" for name in sorted(wanted - found[domain])]
        print(f"{domain}: {len(wanted)} names")
    print("\n".join(missing))
    return bool(missing)


sys.path.insert(0, str(Path(sys.argv[1], "build/release/python")))
sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
