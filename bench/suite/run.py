#!/usr/bin/env python3
"""run.py UNIBUF_SUITE SUMMARY.JSON [--small]: runs the suite, and writes a list of {program, version, bytes, least,
seconds, against_expert, transfer_lines, transfer_characters}: of each program each version."""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import code_size
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

HERE = Path(__file__).parent


def rows_of(program: str, suite: str, options: list[str]) -> list[dict]:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [suite, "--program", program, "--json", file.name, *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        rows = json.load(file)
    sizes = code_size.count(HERE / "programs" / f"{program}.cpp")
    for row in rows:
        lines, characters = sizes[row["version"].removesuffix(" shared")]
        row |= {"transfer_lines": lines, "transfer_characters": characters}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", help="the program unibuf_suite")
    parser.add_argument("summary", type=Path)
    parser.add_argument("--small", action="store_true", help="small problems: whether it works")
    asked = parser.parse_args()

    options = ["--small", "--rounds", "1"] if asked.small else []
    names = subprocess.run([asked.suite, "--list"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    rows = []
    count = TextColumn("{task.completed}/{task.total}")
    with Progress(TextColumn("{task.description:16}"), BarColumn(), count, TimeElapsedColumn()) as progress:
        task = progress.add_task("", total=len(names))
        for name in names:
            progress.update(task, description=name)
            rows += rows_of(name, asked.suite, options)
            progress.advance(task)
    asked.summary.parent.mkdir(parents=True, exist_ok=True)
    asked.summary.write_text(json.dumps(rows, indent=1) + "\n")


main()
