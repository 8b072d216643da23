"""Marks for pytest: how many bytes a test may move, and what becomes of transfers that it does not ask for by name.

pytest_plugins = ["unibuf.pytest_plugin"]      # in conftest.py

@pytest.mark.unibuf_budget(1_000_000, to="cuda:0")
@pytest.mark.unibuf_guard("error", from_="cuda:0")
def test_the_solver_stays_on_the_device(): ...
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack

import pytest

from ._guard import budget, guard

_MARKS: dict[str, Callable[..., AbstractContextManager[object]]] = {"unibuf_budget": budget, "unibuf_guard": guard}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "unibuf_budget(nbytes, *, from_, to): the test fails where more bytes move")
    config.addinivalue_line(
        "markers", "unibuf_guard(action, *, from_, to): what becomes of transfers that are not asked for by name"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    with ExitStack() as around:
        for name, made in _MARKS.items():
            for mark in reversed(list(item.iter_markers(name))):  # the test's own is the innermost
                around.enter_context(made(*mark.args, **mark.kwargs))
        return (yield)
