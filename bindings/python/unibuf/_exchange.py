"""What `shuffle` of NumPy's generators would do to rows: it exchanges those of whatever is no array one by one, as if
they were copies. Rows of a buffer are views of it, as those of an array are, and one of each pair would be lost."""

from __future__ import annotations

import sys
from opcode import opmap
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STORE = opmap["STORE_SUBSCR"]


def check_no_exchange(host: NDArray[Any], key: Any, value: NDArray[Any]) -> None:
    """Refuses a row of `host` as the new value of another, where a function in C assigns it. A statement of Python,
    `b[1] = b[0]`, says what it does. Called by __setitem__."""
    if isinstance(key, int) and np.may_share_memory(host, value) and not np.may_share_memory(host[key], value):
        caller = sys._getframe(1).f_back
        while caller is not None and caller.f_code.co_name == "__setitem__":  # of a class made from UnifiedBuffer
            caller = caller.f_back
        if caller is None or caller.f_code.co_code[caller.f_lasti] != _STORE:
            raise TypeError(
                "rows of a buffer are views, and a function that exchanges them one by one, as shuffle does, would "
                "lose some: give it the array, `host`"
            )
