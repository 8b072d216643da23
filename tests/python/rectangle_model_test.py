"""Random views of random buffers in random use, against NumPy's arrays."""

import numpy as np
import pytest
from conftest import FIRST_SEED
from rectangles import as_numpy, moved
from unibuf import UnifiedBuffer

DTYPES = ["u1", "i4", "f8", "c8", "S3", np.dtype([("a", "i1"), ("b", "f4")])]


class Model:
    """A buffer, and an array with what it is to hold; random views of them are used in random ways."""

    def __init__(self, seed, device):
        self.random = np.random.default_rng(seed)
        self.device = device
        shape = tuple(int(extent) for extent in self.random.integers(1, 7, self.random.integers(1, 6)))
        self.dtype = np.dtype(DTYPES[seed % len(DTYPES)])
        self.array = self.values(shape)
        self.buffer = UnifiedBuffer(shape, self.dtype, hint="gpu_preferred").copy_from(self.array)
        self.held = []  # arrays of the host stay: they are watched from then on

    def values(self, shape):
        numbers = self.random.integers(0, 100, shape)
        if not self.dtype.names:
            return numbers.astype(self.dtype)
        result = np.zeros(shape, self.dtype)
        result["a"], result["b"] = numbers, numbers / 4
        return result

    def index(self, shape):
        def along(extent):
            if self.random.random() < 0.2:
                return int(self.random.integers(-extent, extent))
            ends = sorted(int(end) for end in self.random.integers(0, extent + 1, 2))
            start, stop = (None if self.random.random() < 0.3 else end for end in ends)
            return slice(start, stop, int(self.random.choice([1, 1, 2, 3])))

        if 0 in shape:
            return ...
        axes, kind = len(shape), self.random.random()
        if kind < 0.1:
            return along(shape[0])
        first = int(self.random.integers(axes + 1))
        begin = [along(extent) for extent in shape[:first]]
        if kind < 0.5:
            return tuple(begin)
        last = int(self.random.integers(first, axes + 1))
        return (*begin, ..., *(along(extent) for extent in shape[last:]))

    def some_view(self):
        view, array = self.buffer, self.array
        for _ in range(self.random.integers(1, 3)):
            if view.ndim:
                index = self.index(view.shape)
                view, array = view.view[index], array[index if has_ellipsis(index) else (*as_tuple(index), ...)]
        return view, array

    def step(self):
        view, array = self.some_view()
        assert (view.shape, view.size, view.nbytes) == (array.shape, array.size, array.nbytes)
        values = self.values(array.shape)
        before = moved(self.buffer)
        what = self.random.choice(["host", "block", "copy", "fill", "read", "device", "sync", "device block"])
        if what == "host":
            view.host[...] = values
            array[...] = values
        elif what == "block":
            with view.write("host") as shown:
                shown[...] = values
                del shown
            array[...] = values
        elif what == "copy":
            view.copy_from(
                values if self.random.random() < 0.5 else UnifiedBuffer(values.shape, values.dtype).copy_from(values)
            )
            array[...] = values
        elif what == "fill" and values.size:
            view.fill(values.flat[0])
            array[...] = values.flat[0]
        elif what == "sync":
            view.prefetch(self.device)
            view.sync_to_host() if self.random.random() < 0.5 else view.sync_to_device()
        elif what == "device block" and self.device in ("host", "debug:0"):
            with view.read_write(self.device) as shown:
                assert np.array_equal(shown, array)
                shown[...] = values
                del shown
            array[...] = values
        elif what == "device":
            assert np.array_equal(as_numpy(view.device).reshape(array.shape), array)
        elif what == "read":
            with view.read("host") as shown:
                assert np.array_equal(shown, array) and (not array.size or shown.flags.writeable is False)
                if not self.held:
                    reach = sum((extent - 1) * stride for extent, stride in zip(view.shape, view.strides, strict=True))
                    reach = reach + self.dtype.itemsize if view.size else 0
                    assert moved(self.buffer) - before <= (reach if view._has_steps else view.nbytes)
                del shown
        if self.random.random() < 0.1:
            self.held.append(view.host)
        out = np.empty(array.shape, array.dtype)
        view.copy_to(out)
        assert np.array_equal(out, array)


def has_ellipsis(index):
    return any(each is ... for each in as_tuple(index))


def as_tuple(index):
    return index if isinstance(index, tuple) else (index,)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + 40))
def test_random_views_in_random_use(device, seed):
    model = Model(seed, device)
    for _ in range(25):
        model.step()
    assert np.array_equal(model.buffer.to_numpy(), model.array)
