#!/usr/bin/env python3
"""printed.py DOCUMENT PROGRAM...: whether the programs print what the document's ```text blocks say, one for each."""

import re
import subprocess
import sys
from pathlib import Path

said = re.findall(r"^```text\n(.*?)^```$", Path(sys.argv[1]).read_text(), re.MULTILINE | re.DOTALL)
printed = [
    subprocess.run(
        [sys.executable, program] if program.endswith(".py") else [program], capture_output=True, text=True, check=True
    ).stdout
    for program in sys.argv[2:]
]
sys.exit(f"{sys.argv[1]} says:\n{''.join(said)}\nand this is printed:\n{''.join(printed)}" if said != printed else 0)
