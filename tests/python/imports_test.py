"""The modules of the package import each other in one direction, wherever in a module the import stands."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "bindings/python/unibuf"


def imports_of(path, modules):
    """The modules of the package that one imports, also within functions, or for types alone."""
    for each in ast.walk(ast.parse(path.read_text(), path)):
        if isinstance(each, ast.ImportFrom) and each.level == 1:
            yield from [each.module] if each.module else [of.name for of in each.names if of.name in modules]


def test_no_module_imports_itself_by_way_of_others():
    modules = {path.stem: path for path in PACKAGE.glob("*.py")}
    graph = {name: set(imports_of(path, modules)) for name, path in modules.items()}
    assert graph["__init__"] > {"buffer", "pool", "registry"}  # the imports were found
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]))
