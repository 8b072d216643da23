#!/usr/bin/env python3
"""page.py SUMMARY.JSON PEERS.JSON FOLDER: writes suite.md and its pictures into the folder, from what was measured."""

import datetime
import json
import os
import platform
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
from jinja2 import Environment, FileSystemLoader, StrictUndefined

VERSIONS = ("unibuf", "expert", "published", "copy all")
COLOURS = {"unibuf": "#0b6e4f", "expert": "#4056a1", "published": "#b5651d", "copy all": "#999999"}

# Moved / least of the programs as they were published, counted by their sources.
COUNTED = {"bfs": 1.19, "backprop": 1.34, "streamcluster": 1.96, "kmeans": 1.00, "correlation": 1.50}


def by_program(rows: list[dict]) -> dict[str, dict[str, dict]]:
    found = defaultdict(dict)
    for row in rows:
        found[row["program"]][row["version"]] = row | {"ratio": row["bytes"] / row["least"]}
    return dict(found)


def draw(programs: dict, key: str, label: str, versions: tuple[str, ...], file: Path, scale: str = "linear") -> None:
    """Draws a bar for each version of each program."""
    figure, axes = plt.subplots(figsize=(10, 3.4), layout="constrained")
    width = 0.8 / len(versions)
    for number, each in enumerate(versions):
        places = [place + (number - (len(versions) - 1) / 2) * width for place in range(len(programs))]
        axes.bar(places, [rows[each][key] for rows in programs.values()], width, label=each, color=COLOURS[each])
    axes.set_xticks(range(len(programs)), programs, rotation=30, ha="right")
    axes.set_ylabel(label)
    axes.set_yscale(scale)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(ncols=len(versions), frameon=False, loc="upper left")
    plt.rcParams["svg.hashsalt"] = "unibuf"  # so that the same figures make the same file
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def seconds(of: float) -> str:
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if of * scale >= 1:
            return f"{of * scale:.3g} {unit}"
    return f"{of * 1e9:.3g} ns"


def works_of(rows: list[dict]) -> dict[str, list[dict]]:
    """Returns for each work a line for each peer, with the ratios against unibuf's placements."""
    found = defaultdict(dict)
    for row in rows:
        line = found[row["work"]].setdefault(row["peer"], {"peer": row["peer"], "note": row["note"], "ratios": {}})
        if "ratio" in row:
            line |= {"time": seconds(row["peer_seconds"]), "bytes": row.get("bytes")}
            line["ratios"][row["placement"]] = f"{row['ratio']:.2g}" if row["ratio"] < 10 else f"{row['ratio']:,.0f}"
    return {work: list(lines.values()) for work, lines in found.items()}


def machine() -> dict[str, str]:
    cpus = Path("/proc/cpuinfo").read_text().splitlines()
    pocl = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "pocl-opencl-icd"], capture_output=True, text=True)
    return {
        "cpu": next((line.split(":")[1].strip() for line in cpus if line.startswith("model name")), "an unknown CPU"),
        "cores": str(os.cpu_count()),
        "kernel": platform.release(),
        "pocl": pocl.stdout or "of an unknown version",
        "date": datetime.date.today().isoformat(),
    }


def main() -> None:
    summary, peers, folder = (Path(each) for each in sys.argv[1:4])
    programs = by_program(json.loads(summary.read_text()))
    draw(programs, "ratio", "bytes moved / least", VERSIONS, folder / "suite-bytes.svg", scale="log")
    draw(programs, "against_expert", "time / expert's", VERSIONS[:3], folder / "suite-time.svg")
    draw(programs, "transfer_characters", "characters", VERSIONS, folder / "suite-code.svg")
    loader = FileSystemLoader(Path(__file__).parent)
    pages = Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    found = {"programs": programs, "versions": VERSIONS, "counted": COUNTED, "machine": machine()}
    measured = json.loads(peers.read_text()) if peers.exists() else {"missing": [], "rows": []}
    found |= {"works": works_of(measured["rows"]), "missing": measured["missing"]}
    page = pages.get_template("page.md.j2").render(found)
    (folder / "suite.md").write_text("".join(f"{line.rstrip()}\n" for line in page.splitlines()))


main()
