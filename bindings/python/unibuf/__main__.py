"""`python -m unibuf` is the command-line tool."""

import sys

from ._native import run_tool
from .errors import UnsupportedError


def main() -> int:
    try:
        return run_tool(sys.argv[1:])
    except UnsupportedError as missing:
        print(f"unibuf: {missing}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
