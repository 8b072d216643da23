"""How much code each version of a program's host part takes: the lines and characters of its function's body.

What the versions share, kernels and the host's own computation, stands elsewhere and is not counted. Comments, blank
lines and white space count as nothing.
"""

import re
from pathlib import Path

FUNCTIONS = {"published": "published", "copy_all": "copy all", "expert": "expert", "by_unibuf": "unibuf"}
BODY = re.compile(r"^void \w+::(\w+)\([^)]*\) \{\n(.*?)^\}", re.M | re.S)
COMMENT = re.compile(r"//[^\n]*")


def count(source: Path) -> dict[str, tuple[int, int]]:
    """Returns (lines, characters) for each version in the source."""
    found = {}
    for name, body in BODY.findall(source.read_text()):
        if name in FUNCTIONS:
            lines = [line for line in COMMENT.sub("", body).splitlines() if line.strip()]
            found[FUNCTIONS[name]] = (len(lines), sum(len("".join(line.split())) for line in lines))
    if missing := set(FUNCTIONS.values()) - found.keys():
        raise SystemExit(f"{source}: no body was found of: {', '.join(sorted(missing))}")
    return found
