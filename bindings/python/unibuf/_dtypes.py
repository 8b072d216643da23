"""Types of elements as text, by which processes tell each other what memory that they share holds."""

from __future__ import annotations

from typing import Any

import numpy as np


def description_of(dtype: np.dtype[Any]) -> Any:
    if dtype.kind == "V" and dtype.names is None and dtype.subdtype is None and dtype.type is not np.void:
        return f"{dtype.type.__module__}:{dtype.name}"  # of ml_dtypes
    return np.lib.format.dtype_to_descr(dtype)


def dtype_of(description: Any) -> np.dtype[Any]:
    if isinstance(description, str) and description.startswith("ml_dtypes:"):
        import ml_dtypes  # the process that shares has it

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, description.partition(":")[2]))
        return found
    return np.lib.format.descr_to_dtype(description)
