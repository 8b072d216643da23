"""The names of PyDotCompute's documents, on unibuf. New programs import unibuf.

A file, because PyDotCompute itself is a folder: where both are installed neither overwrites the other, and Python
imports the folder.
"""

from importlib.metadata import distributions
from pathlib import Path

import unibuf

if getattr(unibuf, "_distribution", None) != "unibuf-python":
    _folder = Path(unibuf.__file__ or "unibuf").parent
    _owners = [
        f"{each.name} {each.version}"
        for each in distributions(path=[str(_folder.parent)])
        if each.name.replace("_", "-") != "unibuf-python"
        and any(file.parts[0] == _folder.name for file in each.files or ())
    ]
    raise ImportError(
        f"import unibuf found another package of that name: {_folder} has files of "
        f"{' and '.join(_owners) or 'no distribution that is known'}, and not of unibuf-python alone. Uninstall both, "
        "`pip uninstall unibuf unibuf-python`, and install unibuf-python again, from its sources or from a file: on an "
        "index `unibuf` is somebody else's"
    )

__path__ = [str(Path(__file__).with_name("unibuf_pydotcompute"))]  # its modules are there

from pydotcompute.core.accelerator import Accelerator, get_accelerator
from pydotcompute.core.memory_pool import MemoryPool, get_memory_pool
from pydotcompute.core.unified_buffer import BufferState, UnifiedBuffer
from pydotcompute.messages import message
from pydotcompute.runtime import Runtime

__all__ = [
    "Accelerator",
    "BufferState",
    "MemoryPool",
    "Runtime",
    "UnifiedBuffer",
    "get_accelerator",
    "get_memory_pool",
    "message",
]
