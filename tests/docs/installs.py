#!/usr/bin/env python3
"""installs.py ROOT: whether nothing takes this project from an index by a name there, which is somebody else's.

Documents, notebooks, scripts and messages install it from its folder or a file; what depends on it names unibuf-python.
"""

import re
import sys
from pathlib import Path

INSTALL = re.compile(r"\bpip3? (?:install|download|wheel)\b([^\n`|;&]*)")
NAME = re.compile(r"unibuf[\w-]*(?:\[[^]]*\])?(?:[=<>~!]=?\S*)?")
DEPENDENCY = re.compile(r'"(unibuf[^"/]*)"')
LISTS = re.compile(r"^(?:requires|dependencies|\w+) = \[([^]]*)\]", re.MULTILINE)

root = Path(sys.argv[1])
wrong = []
for path in sorted(root.rglob("*")):
    within = path.relative_to(root)
    if within.parts[0] in ("build", ".git") or path.suffix not in (".md", ".ipynb", ".sh", ".py", ".cpp", ".toml"):
        continue
    text = path.read_text()
    for found in INSTALL.finditer(text):
        words = found.group(1).split("#")[0].replace("'", " ").replace('"', " ").split()
        wrong += [f"{within}: pip takes {word} from an index" for word in words if NAME.fullmatch(word)]
    if path.name == "pyproject.toml":
        for each in LISTS.findall(text):
            names = DEPENDENCY.findall(each)
            wrong += [f"{within}: depends on {name}" for name in names if not re.match(r"unibuf-python\b", name)]
sys.exit("\n".join(wrong) or 0)
