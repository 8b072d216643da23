"""JAX on the CPU."""

import subprocess
import sys

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer

jax = pytest.importorskip("jax")
jnp = jax.numpy

N = 64 * 1024


def test_jax_reads_the_hosts_copy():
    buffer = UnifiedBuffer((N,)).copy_from(np.arange(N, dtype=np.float32))
    for source in (buffer, buffer.host):
        assert float(jnp.from_dlpack(source).sum()) == pytest.approx(N * (N - 1) / 2)
    assert float(jnp.asarray(buffer).max()) == N - 1


def test_it_reads_what_a_device_wrote():
    unibuf.set_default_device("debug:0")
    buffer = UnifiedBuffer((N,)).fill(1)
    array = buffer.device
    array += 1
    buffer.mark_device_dirty()
    assert float(jnp.from_dlpack(buffer).sum()) == 2 * N


def test_what_jax_made_is_copied_in():
    buffer = UnifiedBuffer((N,))
    buffer.copy_from(jnp.arange(N, dtype=jnp.float32) * 2)
    assert buffer.host[3] == 6


def test_an_array_of_jax_is_not_written_through():
    with pytest.raises((unibuf.InvalidArgumentError, BufferError)):
        unibuf.from_dlpack(jnp.zeros(N))


@pytest.mark.parametrize("order", ["unibuf, jax", "jax, unibuf"])
def test_either_is_imported_first(order):
    code = f"import {order}; print(jax.numpy.ones(3).sum(), unibuf.UnifiedBuffer(3).fill(1).host.sum())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "3.0 3.0\n"), done.stderr
