"""`python -m unibuf` is the command-line tool."""

import os
import sys

from ._distributions import others_in, refusal
from ._native import run_tool
from .errors import UnsupportedError


def main() -> int:
    folder = os.path.dirname(__file__)
    if sys.argv[1:2] == ["doctor"] and others_in(folder):
        print(f"unibuf: {refusal(folder)}", file=sys.stderr)
    try:
        return run_tool(sys.argv[1:])
    except UnsupportedError as missing:
        print(f"unibuf: {missing}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
