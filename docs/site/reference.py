#!/usr/bin/env python3
"""reference.py ROOT OUTPUT: writes the pages of the reference, which say what to show where: a page for each header of
C++ and C, each Fortran module, and each part of the Python package.
"""

import ast
import re
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from xml.etree import ElementTree

import doxygen_filter

MODULES = [
    "gpu_unified_buffers",
    "gpu_buffer_types",
    "gpu_buffer_contents",
    "gpu_buffer_control",
    "gpu_buffer_pools",
    "gpu_buffer_queries",
    "gpu_fence_primitives",
    "gpu_compute_shaders",
    "unibuf_mpi",
]


def page(path, title, *blocks):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n\n".join([f"# {title}" if title else "", *blocks]) + "\n")


def directive(name, argument, *options):
    return "\n".join([f"```{{{name}}} {argument}", *(f":{each}:" for each in options), "```"])


def toctree(pages):
    return directive("toctree", "", "hidden")[:-3] + "\n" + "\n".join(pages) + "\n```"


def opening(header):
    """What the comment says that a header opens with: in a sentence, and further."""
    lines = takewhile(lambda line: line.startswith("//"), header.read_text().splitlines())
    text = "\n".join(line[3:] for line in lines).partition(": ")[2].replace("<", "\\<")
    first, others = re.match(r"(.*?)(?:\.\s(.*)|\.?$)", text, re.DOTALL).groups()
    return f"{' '.join(first.split())}.", others or ""


def of_headers(language, headers, output):
    entries, rows = [], []
    for header in headers:
        summary, further = opening(header)
        summary = summary[0].upper() + summary[1:]
        whole = directive("doxygengroup", doxygen_filter.group_of(header.name), "content-only")
        groups = [
            f"## {title}\n\n" + directive("doxygengroup", doxygen_filter.group_of(header.name, title), "content-only")
            for title in doxygen_filter.sections(header)
        ]
        page(output / f"{language}/{header.stem}.md", f"`{header.name}`", summary, further, whole, *groups)
        entries.append(f"{header.name} <{language}/{header.stem}>")
        rows.append(f"- [`{header.name}`]({language}/{header.stem}.md): {summary[0].lower()}{summary[1:]}")
    return toctree(entries), "\n".join(rows)


def of_cpp(root, output):
    headers = sorted(
        set((root / "include/unibuf").glob("*.hpp"))
        - {root / "include/unibuf/export.hpp", root / "include/unibuf/unibuf.hpp"}
    )
    page(
        output / "cpp.md",
        "C++",
        "What `#include <unibuf/unibuf.hpp>` declares, by header, and the headers of native handles, traces and MPI.",
        *of_headers("cpp", headers, output),
    )


def of_c(root, output):
    page(output / "c.md", "C", *of_headers("c", sorted((root / "include/unibuf").glob("*.h")), output))


def plain_fortran(text):
    """A module as its readers think of it: no statement is continued, and none has a name of C; procedures that are
    declared in an interface without a name are the module's, and enumerators are constants."""
    text = re.sub(r" *&\n *&? *", " ", text)
    text = re.sub(r" bind\(C, name='\w+'\)", "", text)
    text = re.sub(r"(!>.*\b\w+)_(?!\w)", r"\1\\_", text)  # which means a link to reStructuredText
    text = re.sub(r"^ *(end )?enum\b.*\n", "", text, flags=re.M)
    text = re.sub(
        r"^( *)enumerator :: (.*?) *(?:!< (.*))?$", r"\1!> \3\n\1integer, parameter :: \2\n", text, flags=re.M
    )
    return re.sub(
        r"^  (end )?interface$", "", re.sub(r"^  interface$", "contains", text, count=1, flags=re.M), flags=re.M
    )


def of_one_type(template):
    """The module that is written out for many types, for one that stands for all."""
    types = re.findall(r"\('\w+', '([\w()]+)'\)", template)
    template = re.sub(r"\A(#:.*|.*&.*|\n)+?#:set TYPES.*\n", "#:set TYPES = [('logical', 'type(any)')]\n", template)
    text = run(["fypp"], template).replace("_logical", "_any")
    # With flang logical is a type as any other; with others it has a second set of interfaces.
    text = run(["cpp", "-traditional-cpp", "-P", "-C", "-D__flang__"], text)
    return say(text, f"Here ``any`` stands for each of {', '.join(types)}; the generic names take them all.")


def say(text, more):
    """A module of which the comment that it opens with says more."""
    return re.sub(r"\A((?:!>.*\n)+)", rf"\1!>\n!> {more}\n", text)


def run(command, text):
    return subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE, check=True).stdout


def of_fortran(root, output):
    sources = root / "build/docs-parts/fortran"
    sources.mkdir(exist_ok=True)
    entries, rows = [], []
    for module in MODULES:
        source = next((root / "bindings/fortran").rglob(f"{module}.f*"))
        text = source.read_text()
        if source.suffix == ".fypp":
            text = of_one_type(text)
        if used := re.findall(r"^  use (gpu_\w+)$", text, re.MULTILINE):
            text = say(text, f"It has the names of {', '.join(f':f:mod:`{each}`' for each in used)}, too.")
        (sources / f"{module}.f90").write_text(plain_fortran(text))
        page(output / f"fortran/{module}.md", "", directive("f:module", module))
        entries.append(f"{module} <fortran/{module}>")
        about = re.search(r"^!> ([^.\n]*)", text, re.MULTILINE)[1]
        rows.append(f"- [`{module}`](fortran/{module}.md): {about[0].lower()}{about[1:]}")
    page(output / "fortran.md", "Fortran", toctree(entries), "\n".join(rows))


def of_python(root, output):
    sys.path.insert(0, str(root / "build/release/python"))
    import unibuf

    package = Path(unibuf.__file__)
    entries, rows = [], []
    for each in ast.parse(package.read_text()).body:
        if not isinstance(each, ast.ImportFrom) or each.level == 0:
            continue
        public = [name.name for name in each.names if name.name in unibuf.__all__]
        if not public:
            continue
        part = each.module.strip("_")
        about = ast.get_docstring(ast.parse((package.parent / f"{each.module}.py").read_text()))
        described = [autodoc(f"unibuf.{name}", getattr(unibuf, name)) for name in public]
        page(output / f"python/{part}.md", part.capitalize(), about, rst(*described))
        entries.append(f"python/{part}")
        rows.append(f"- [{part.capitalize()}](python/{part}.md): " + ", ".join(f"`{name}`" for name in public))
    for module in ("dask", "mpi"):
        described = f".. automodule:: unibuf.{module}\n   :members:"
        page(output / f"python/{module}.md", f"`unibuf.{module}`", rst(described))
        entries.append(f"unibuf.{module} <python/{module}>")
        rows.append(f"- [`unibuf.{module}`](python/{module}.md), which is imported when it is first used")
    page(output / "python.md", "Python", toctree(sorted(entries)), "\n".join(sorted(rows)))


def autodoc(name, value):
    if isinstance(value, type):
        stop = "object, tuple, Enum, Exception, MutableMapping, Mapping, Generic"
        return f".. autoclass:: {name}\n   :members:\n   :undoc-members:\n   :inherited-members: {stop}"
    return f".. {'autofunction' if callable(value) else 'autodata'}:: {name}"


def rst(*blocks):
    return "```{eval-rst}\n" + "\n\n".join(blocks) + "\n```"


def qualify(doxygen):
    """Has Breathe see whole names: what is in a group of Doxygen's has only the last part of its name."""
    for file in doxygen.glob("group_*.xml"):
        tree = ElementTree.parse(file)
        for member in tree.iterfind(".//memberdef[qualifiedname]"):
            member.find("name").text = member.find("qualifiedname").text
        tree.write(file, "utf-8", xml_declaration=True)


def main(root, output):
    qualify(root / "build/docs-parts/doxygen")
    for each in (of_cpp, of_c, of_fortran, of_python):
        each(root, output)


main(Path(sys.argv[1]), Path(sys.argv[2]))
