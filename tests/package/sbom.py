#!/usr/bin/env python3
"""sbom.py SOURCE FILE...: the files are CycloneDX 1.6, and name everything of others that the sources include."""

import json
import pathlib
import re
import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

# The C and C++ runtimes, the kernel's and Apple's headers, and what belongs to the user's own compiler, Python or MPI.
SYSTEM = re.compile(
    r"(sys|linux|mach|mach-o)/|[a-z_0-9]+$|"
    r"(cxxabi|dlfcn|emmintrin|fcntl|limits|link|poll|pthread|sched|spawn|std\w+|string|unistd|ISO_Fortran_binding|Python|mpi)\.h$"
)
OWN = re.compile(r"unibuf/|[a-z_]+\.hpp$")
INCLUDE = re.compile(r"^\s*#\s*include <([^>]+)>", re.MULTILINE)

# What is compiled into each of the products.
COMPILED = {
    "libunibuf": ["include", "src", "bindings/c", "bindings/fortran"],
    "unibuf-tool": ["cli"],
    "unibuf-python": ["bindings/python"],
}


def check(source, file):
    """Ends the program where the file is no CycloneDX; returns how many headers it does not account for."""
    text = file.read_text()
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"{file}: {wrong}")
    named = []
    for part in json.loads(text)["components"]:
        print(file.name, part["name"], part.get("version", "of no version"), part["licenses"][0]["expression"])
        named += [each["value"] for each in part["properties"] if each["value"]]
    lacking = 0
    for folder in COMPILED[file.name.removesuffix(".cdx.json")]:
        for path in sorted((source / folder).rglob("*.[ch]*")):
            for header in INCLUDE.findall(path.read_text()):
                if not (SYSTEM.match(header) or OWN.match(header) or header.startswith(tuple(named))):
                    print(f"{path} includes <{header}>, which {file.name} does not name: see cmake/sbom.cmake")
                    lacking += 1
    return lacking


source, *files = map(pathlib.Path, sys.argv[1:])
sys.exit(sum(check(source, file) for file in files) > 0)
