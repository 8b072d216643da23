"""Says whether `import pydotcompute` is unibuf's: raises ImportError where it is PyDotCompute itself."""

from importlib.util import find_spec
from pathlib import Path

_found = find_spec("pydotcompute")
_ours = Path(__file__).parents[1] / "pydotcompute.py"
if _found is None or _found.origin is None or not _ours.samefile(_found.origin):
    raise ImportError(
        f"`import pydotcompute` is PyDotCompute itself here ({_found.origin if _found else None}), not its names on "
        "unibuf: uninstall pydotcompute to have those"
    )
