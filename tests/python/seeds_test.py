"""Every Python snippet of the documents that unibuf was born from runs as written, and the states are as it says."""

import ast
import asyncio
import dataclasses
import enum
import os
import re
import typing
import uuid
import warnings
from pathlib import Path

import numpy as np
import pydotcompute
import pytest
import seeds
import unibuf
from conftest import SPACES
from pydotcompute.core.memory_pool import get_memory_pool

FOLDER = Path(os.environ.get("UNIBUF_SEEDS", Path(__file__).parents[3] / "shared" / "seeds"))
SNIPPETS = list(seeds.snippets(FOLDER)) if FOLDER.is_dir() else []
STATE = re.compile(r"#.*?\b(" + "|".join(state.name for state in unibuf.BufferState) + r")\b(?!.*[A-Z]{4})")


def plus_one(array):
    array += 1


class Traditional:
    """What the documents compare with: device arrays that are copied by hand."""

    def __init__(self, content):
        self.content = content

    @classmethod
    def to_device(cls, array):
        return cls(np.array(array))

    def copy_to_host(self):
        return np.array(self.content)


class Program:
    """What the snippets take for granted."""

    def __init__(self, space):
        self.processed = []
        self.runtime = pydotcompute.Runtime()
        data = np.linspace(0, 1, 1000, dtype=np.float32)
        rounds = iter(range(3))

        async def work(kernel, array):
            kernel(array)

        # Where the host is the device, what a kernel writes is found as a host write: there it only reads.
        kernel = np.sum if space == "host" else plus_one
        self.names = {
            "np": np,
            "dataclass": dataclasses.dataclass,
            "message": pydotcompute.message,
            "uuid4": uuid.uuid4,
            "UnifiedBuffer": pydotcompute.UnifiedBuffer,
            "get_memory_pool": get_memory_pool,
            "Enum": enum.Enum,
            "BufferState": pydotcompute.BufferState,
            "Generic": typing.Generic,
            "T": typing.TypeVar("T"),
            "Any": typing.Any,
            "data": data,
            "input_data": data,
            "large_array": data,
            "batches": [data, data + 1],
            "kernel": lambda of: setattr(of, "content", of.content + 1) if isinstance(of, Traditional) else kernel(of),
            "my_kernel": kernel,
            "gpu_kernel": kernel,
            "process": kernel,
            "process_on_gpu": kernel,
            "cuda": Traditional,
            "launch_async": lambda of, array: work(of, array),
            "get_next_batch": lambda: data,
            "data_available": lambda: next(rounds, None) is not None,
            "runtime": self.runtime,
            "print": self.print,
        }
        self.printed = []

    def print(self, *values):
        self.printed.append(" ".join(map(str, values)))

    async def processor(self, request):
        whole = self.names["buffers"][request.buffer_id]
        self.processed.append(whole.view(request.offset, request.size).to_numpy())

    async def run(self, code):
        """Statement by statement: a comment that names a state says which one the buffer is in then."""
        lines = code.splitlines()
        self.runtime.processor("processor")(self.processor)
        try:
            for statement in ast.parse(code).body:
                module = ast.Module([statement], [])
                compiled = compile(module, "snippet", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                result = eval(compiled, self.names)
                if result is not None:
                    await result
                told = STATE.search(lines[statement.end_lineno - 1])
                if told and "buf" in self.names:
                    assert str(self.names["buf"].state) == told[1], lines[statement.end_lineno - 1]
            await self.runtime.join()
        finally:
            await self.runtime.close()


def has_metal():
    return any(each.name == "metal:0" for each in unibuf.devices())


@pytest.mark.skipif(not SNIPPETS, reason=f"{FOLDER} is not here; other tests and the guides cover the same ground")
def test_the_documents_are_found_whole():
    by_document = {}
    for name, _, code in SNIPPETS:
        by_document.setdefault(name[:3], []).append(code)
    assert {name: len(codes) for name, codes in by_document.items()} == {"000": 23, "001": 11, "002": 11, "004": 12}


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("document", "number", "code"),
    SNIPPETS
    or [
        pytest.param(
            "",
            0,
            "",
            marks=pytest.mark.skip(reason=f"{FOLDER} is not here; other tests and the guides cover the same ground"),
        )
    ],
    ids=[f"{name[:3]}-{number}" for name, number, _ in SNIPPETS] or ["none"],
)
def test_snippet(document, number, code, space, default_device):
    default_device(space)
    program = Program(space)
    if ".metal" in code and not has_metal():
        with pytest.raises(unibuf.UnsupportedError, match="macOS"):
            asyncio.run(program.run(code))
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "this MLX has no Metal")
        asyncio.run(program.run(code))
    for line, printed in zip(re.findall(r"print\(buf\.state\).*# *(\w+)", code), program.printed, strict=False):
        assert printed == line
    if "runtime.send" in code:
        assert np.array_equal(program.processed, [program.names["large_array"]])
    if "class BufferState" in code:
        documented = {each.name: each.value for each in program.names["BufferState"]}
        assert documented.items() <= {each.name: each.value for each in unibuf.BufferState}.items()
    for name in re.findall(r"^ *def ([a-z]\w*)\(self", code, re.MULTILINE):
        assert hasattr(unibuf.UnifiedBuffer, name)
    if "results.append" in code:
        for batch, result in zip(program.names["batches"], program.names["results"], strict=True):
            if space != "opencl:0":  # in memory that is shared, what nobody marked may show
                assert np.array_equal(result, batch)
