"""Functions that a device may compute return nothing that shows their arguments' memory: whatever is written to such a
result at a device, nobody would find."""

from itertools import product

import numpy as np
import pytest
from unibuf._as_array import _AT_DEVICE_TOO, _out_of

SQUARE = np.array([[4.0, 1, 1], [1, 4, 1], [1, 1, 4]])
ROW = np.array([0.0, 1, 2])
COUNTS = np.array([0, 1, 2])
MASK = np.array([True, False, True])
ARGUMENTS = (SQUARE, ROW, COUNTS, MASK, [ROW, ROW], [MASK, MASK], 0, 1, None, ())  # functions often do nothing for 0
NAMES = sorted({each.__name__ for each in _AT_DEVICE_TOO})


def arrays_in(of):
    if isinstance(of, np.ndarray):
        return [of]
    return [found for each in of for found in arrays_in(each)] if isinstance(of, (list, tuple)) else []


@pytest.mark.parametrize("name", NAMES)
def test_results_are_new(name):
    function, calls = getattr(np, name), 0
    for arguments in (each for count in (1, 2, 3) for each in product(ARGUMENTS, repeat=count)):
        if _out_of(function, arguments, {}) is not None:
            continue
        try:
            result = function(*arguments)
        except Exception:  # these are no arguments of it
            continue
        calls += 1
        for given, made in product(arrays_in(arguments), arrays_in(result)):
            assert not np.shares_memory(given, made), arguments
    assert calls
