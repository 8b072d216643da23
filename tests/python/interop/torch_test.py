"""torch, where it is installed; on CUDA where a card is."""

import numpy as np
import pytest
import unibuf
from unibuf import UnifiedBuffer

torch = pytest.importorskip("torch")

N = 64 * 1024


def test_torch_shares_the_hosts_copy():
    buffer = UnifiedBuffer((N,)).fill(1)
    tensor = torch.from_dlpack(buffer)
    assert tensor.device.type == "cpu" and tensor.data_ptr() == buffer.host.ctypes.data
    tensor += 1
    assert buffer.host.sum() == 2 * N
    assert str(buffer.state) == "HOST_DIRTY"


def test_a_buffer_over_a_tensor_copies_nothing():
    tensor = torch.arange(N, dtype=torch.float32)
    buffer = unibuf.from_numpy(tensor.numpy())
    tensor[3] = 30
    assert buffer.host[3] == 30


def test_torch_shares_the_copy_at_cuda(cuda):
    buffer = UnifiedBuffer((N,)).copy_from(np.arange(N, dtype=np.float32))
    view = buffer.cuda(0)
    for tensor in (torch.as_tensor(view, device="cuda:0"), torch.from_dlpack(view)):
        assert tensor.device.type == "cuda" and tensor.data_ptr() == view.ptr
    tensor *= 2
    buffer.mark_dirty(cuda)
    assert buffer.host[100] == 200


def test_torchs_own_stream(cuda):
    buffer = UnifiedBuffer((N,)).fill(1)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), buffer.read_write(cuda, stream=stream) as array:
        torch.from_dlpack(array).add_(1)
    assert buffer.host.sum() == 2 * N


def test_a_buffer_that_goes_breaks_no_capture(cuda):
    buffer = UnifiedBuffer((1 << 20,)).fill(1)
    buffer.sync_to_device()
    tensor = torch.zeros(9, device="cuda:0")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tensor += 1
        del buffer
    graph.replay()
    torch.cuda.synchronize()
    assert tensor.sum() == 9


def test_torch_works_on_memory_that_is_shared_with_the_card(cuda):
    buffer = UnifiedBuffer((N,), hint="cpu_preferred").fill(1)
    torch.from_dlpack(buffer.cuda(0)).add_(1)
    torch.cuda.synchronize()
    buffer.mark_dirty(cuda)
    assert buffer.host.sum() == 2 * N
    assert buffer.statistics.transfers_made == 0
