"""The lines that traces name: those of the program, wherever it lies and whatever calls the package for it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import unibuf

START = """\
import asyncio, concurrent.futures, contextlib, functools, threading, unibuf
b = unibuf.UnifiedBuffer((1000,)).fill(1)
b.prefetch("debug:0")
b.mark_dirty("debug:0")
"""

# Each brings the bytes to the host once, in the line that ends with "# here".
CALLS = {
    "itself": """\
with unibuf.trace():
    b.sync_to_host()  # here
""",
    "ExitStack": """\
with unibuf.trace(), contextlib.ExitStack() as blocks:
    blocks.enter_context(b.read("host"))  # here
""",
    "contextmanager": """\
@contextlib.contextmanager
def block():
    with b.read("host") as array:  # here
        yield array
with unibuf.trace(), block():
    pass
""",
    "decorator": """\
with unibuf.trace():
    @functools.lru_cache
    def whole():
        b.sync_to_host()  # here
    whole()
""",
    "singledispatchmethod": """\
class Solver:
    step = functools.singledispatchmethod(lambda self, given: b.sync_to_host())  # here
with unibuf.trace():
    Solver().step(5)
""",
    "thread": """\
def work():
    b.sync_to_host()  # here
with unibuf.trace():
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
""",
    "asyncio": """\
async def work():
    b.sync_to_host()  # here
with unibuf.trace():
    asyncio.run(work())
""",
    "await": """\
async def work():
    await asyncio.sleep(0)
    await b.ensure_on_host()  # here
with unibuf.trace():
    asyncio.run(work())
""",
    "await of nobody's": """\
with unibuf.trace():
    asyncio.run(b.ensure_on_host())  # here
""",
}

END = "print([each for each in b.why() if 'went from debug:0 to host' in each])\n"


def said_by(*arguments):
    """What a program says of its transfer."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(file, text):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(START + text + END)
    return next(number for number, line in enumerate(file.read_text().splitlines(), 1) if line.endswith("# here"))


@pytest.mark.parametrize("call", CALLS)
def test_a_line_is_the_programs_whoever_calls_the_package_for_it(tmp_path, call):
    file = tmp_path / "app.py"
    line = written(file, CALLS[call])
    assert f", in {file}:{line} in " in said_by(file)


@pytest.mark.parametrize("folder", ["unibuf", "a b/unibuf", "site-packages/unibuf", "lib/python3.11"])
def test_a_program_may_lie_in_a_folder_of_any_name(tmp_path, folder):
    file = tmp_path / folder / "sub" / "app.py"
    line = written(file, CALLS["itself"])
    assert f", in {file}:{line} in <module>" in said_by(file)


def test_a_program_that_is_run_as_a_module_has_lines(tmp_path, monkeypatch):
    file = tmp_path / "unibuf" / "sub" / "__main__.py"
    line = written(file, CALLS["itself"])
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'unibuf'}:{os.environ['PYTHONPATH']}")
    assert f", in {file}:{line} in <module>" in said_by("-m", "sub")


def test_a_name_that_is_no_text_has_lines(tmp_path):
    file = os.fsencode(tmp_path) + b"/caf\xe9.py"
    line = written(Path(os.fsdecode(file)), CALLS["itself"])
    assert rf"caf\\udce9.py:{line} in <module>" in said_by(file)


def test_an_installed_module_is_part_of_the_program(tmp_path):
    """It lies in a folder of the standard library's, and is none of it."""
    library = os.path.dirname(os.__file__)
    for folder in ("site-packages", "dist-packages"):
        text = START + CALLS["itself"] + END
        name = f"{library}/{folder}/solver.py"
        assert f", in {name}:6 in <module>" in said_by("-c", f"exec(compile({text!r}, {name!r}, 'exec'))")


def test_a_thread_of_an_executor_has_the_line_of_the_standard_library(tmp_path):
    file = tmp_path / "app.py"
    written(
        file,
        """\
with unibuf.trace(), concurrent.futures.ThreadPoolExecutor() as threads:
    threads.submit(b.sync_to_host).result()  # here
""",
    )
    assert "concurrent/futures/thread.py:" in said_by(file)


def test_a_line_of_a_notebook_is_that_of_its_cell():
    pytest.importorskip("IPython")
    program = f"""
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
def run(cell):
    shell.run_cell(cell, store_history=True).raise_error()
run({START!r})
for _ in range(2):
    run('with unibuf.trace():\\n    b.prefetch("debug:0")\\n    b.mark_dirty("debug:0")\\n    b.sync_to_host()')
    run({END!r})
run('def of_a_cell():\\n    with unibuf.trace():\\n        b.prefetch("debug:0")')
run('of_a_cell()')
run('print(b.why())')
"""
    said = said_by("-c", program)
    assert ", in In[2], line 4 in <module>" in said, said
    assert ", in In[4], line 4 in <module>" in said, said
    assert ", in In[6], line 3 in of_a_cell" in said, said


def test_the_packages_own_frames_are_those_of_its_folder():
    file = unibuf.__file__
    text = START + CALLS["itself"] + END
    other = os.path.dirname(file) + "_of_mine/app.py"
    assert f", in {other}:6 in <module>" in said_by("-c", f"exec(compile({text!r}, {other!r}, 'exec'))")
