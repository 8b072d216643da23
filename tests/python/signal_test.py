"""Writes that are found by a handler of SIGSEGV, where the program asks for that."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
from unibuf import UnifiedBuffer

def found(buffer):
    before = buffer.statistics.bytes_moved
    buffer.prefetch("debug:0")
    moved = buffer.statistics.bytes_moved - before
    return moved

buffer = UnifiedBuffer(1 << 20, "u1")
array = buffer.host
array[:] = 1
found(buffer)
array[5 * 4096] = 2
assert found(buffer) <= 4 * 4096, "one page, and what may lie between"

with open("/dev/zero", "rb") as zeros:
    try:
        zeros.readinto(memoryview(array)[:8192])
        raise SystemExit("a system call wrote pages that are watched")
    except OSError as refused:
        assert "Bad address" in str(refused), refused
    with buffer.write("host") as lease:
        assert zeros.readinto(memoryview(lease)) == len(array)
assert found(buffer) == len(array)
assert not array.any()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it is for Linux")
@pytest.mark.parametrize("options", [[], ["-X", "faulthandler"]])
def test_stores_are_found_and_system_calls_write_what_is_leased(options):
    environment = os.environ | {"UNIBUF_TRACKING": "signal"}
    ran = subprocess.run([sys.executable, *options, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    said = ran.stderr.splitlines()
    assert len(said) == 1 and "fail with EFAULT where host pointers are out" in said[0], ran.stderr
