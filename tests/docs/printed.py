#!/usr/bin/env python3
"""printed.py DOCUMENT COMMAND...: whether the commands print what the document's ```text blocks say, one for each."""

import re
import subprocess
import sys
from pathlib import Path

said = re.findall(r"^```text\n(.*?)^```$", Path(sys.argv[1]).read_text(), re.MULTILINE | re.DOTALL)
printed = [
    subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout for command in sys.argv[2:]
]
sys.exit(f"{sys.argv[1]} says:\n{''.join(said)}\nand this is printed:\n{''.join(printed)}" if said != printed else 0)
