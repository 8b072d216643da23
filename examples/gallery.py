#!/usr/bin/env python3
"""gallery.py BUILD PHOTOGRAPH: runs the examples that BUILD has, and draws a picture of each into its folder."""

import importlib.util
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np

HERE = Path(__file__).parent
GREEN, BLUE, BROWN, GREY = "#0b6e4f", "#4056a1", "#b5651d", "#999999"
MIB = 1 << 20


def run(*command, **environment) -> str:
    """Returns what a program prints."""
    shown = subprocess.run(
        [str(each) for each in command], check=True, text=True, stdout=subprocess.PIPE, env=os.environ | environment
    )
    return shown.stdout


def panels(count: int, title: str, width: float = 9.6, height: float = 3.6, ratios: list[float] | None = None):
    figure, axes = plt.subplots(1, count, figsize=(width, height), layout="constrained", width_ratios=ratios)
    figure.suptitle(title, fontsize=11)
    return figure, axes


def show(axes, picture, title: str, **how) -> None:
    axes.imshow(picture, **how)
    axes.set_title(title, fontsize=9)
    axes.set_axis_off()


def bars(axes, names: list[str], values: list[float], title: str, colours: list[str], unit: str) -> None:
    drawn = axes.barh(range(len(names)), values, color=colours)
    axes.bar_label(drawn, [f" {value:,.4g} {unit}" for value in values], fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    axes.tick_params(length=0)
    axes.invert_yaxis()
    axes.margins(x=0.3)
    axes.set_title(title, fontsize=9)
    axes.xaxis.set_visible(False)
    axes.spines[:].set_visible(False)


def save(figure, example: str) -> None:
    figure.savefig(HERE / example / "picture.png", dpi=100)
    plt.close(figure)


def conv2d(build: Path, folder: Path, photograph: Path) -> None:
    where = {"--picture": photograph, "--output": folder / "edges.png", "--json": folder / "table.json"}
    asked = [each for pair in where.items() for each in pair]
    run(
        build / "examples/conv2d",
        "--mode",
        "all",
        "--space",
        "opencl:0",
        "--filter",
        "edge",
        "--size",
        "2048x2400",
        *asked,
    )
    rows = json.loads((folder / "table.json").read_text())
    figure, (before, after, copied, held) = panels(4, "Convolution on an OpenCL device", ratios=[1, 1, 1.1, 1.1])
    show(before, plt.imread(folder / "edges-before.png")[::4, ::4], "before", cmap="gray")
    show(after, plt.imread(folder / "edges.png")[::4, ::4], "edges", cmap="gray")
    names = [row["mode"] for row in rows]
    colours = [GREY, BLUE, GREEN]
    bars(copied, names, [row["bytes_copied"] / MIB for row in rows], "copied a frame", colours, "MiB")
    bars(held, names, [row["peak_bytes"] / MIB for row in rows], "memory held", colours, "MiB")
    save(figure, "conv2d")


def heat(build: Path, folder: Path) -> None:
    plate = folder / "plate.png"
    rows = json.loads(
        run(build / "examples/heat", "--width", 512, "--rows", 512, "--steps", 4000, "--output", plate, "--json")
    )
    figure, (drawn, moved) = panels(2, "Heat on a plate, whose upper edge the host writes", ratios=[1, 1])
    show(drawn, plt.imread(plate)[:128], "the upper quarter, after 4,000 steps", cmap="inferno")
    names = [row["way"] for row in rows]
    bars(moved, names, [row["bytes_per_step"] / 1024 for row in rows], "moved a step", [GREEN, GREY], "KiB")
    save(figure, "heat")


def oversubscribe(build: Path, folder: Path) -> None:
    trace = folder / "film.trace"
    shown = run(build / "examples/oversubscribe", UNIBUF_TRACE=str(trace))
    limit = int(re.search(r"(\d+) bytes at most", shown)[1]) / MIB
    run(build / "cli/unibuf", "export", trace, "-o", folder / "film.sqlite")
    events = sqlite3.connect(folder / "film.sqlite").execute(
        "select time, kind, end - first from event join space on space.id = target"
        " where name = 'debug:0' and kind in ('allocation', 'release', 'eviction') order by time"
    )
    times, held = [], []
    for time, kind, size in events:
        if kind == "eviction":
            continue  # a release comes with it
        times.append(time)
        held.append((held[-1] if held else 0) + (size if kind == "allocation" else -size) / MIB)
    figure, axes = panels(1, "A film of 128 MiB goes through four stages on a device that has room for a quarter of it")
    axes.step((np.array(times) - times[0]) / 1e6, held, color=GREEN, where="post", label="held at the device")
    axes.axhline(limit, color=BROWN, linestyle="--", label="the limit")
    axes.set(xlabel="ms", ylabel="MiB", ylim=(0, limit * 1.15))
    axes.legend(frameon=False, loc="lower right")
    save(figure, "oversubscribe")


def halo(build: Path, folder: Path) -> None:
    waves = folder / "waves.png"
    run(
        "mpiexec",
        *(["--allow-run-as-root"] if os.geteuid() == 0 else []),
        "-n",
        2,
        build / "examples/halo",
        "--output",
        waves,
    )
    figure, axes = panels(1, "Waves on a pond, computed by two processes", width=5, height=5)
    show(axes, plt.imread(waves), "after 400 steps; the two have one half each", cmap="ocean")
    axes.axvline(256, color="white", linewidth=0.5)
    save(figure, "halo")


def dask_conv2d() -> None:
    found = importlib.util.spec_from_file_location("stack", HERE / "dask_conv2d/stack.py")
    stack = importlib.util.module_from_spec(found)
    found.loader.exec_module(stack)
    figure, axes = panels(6, "Pictures, and their edges as the workers find them")
    for number, each in enumerate(axes):
        original = stack.picture(number, 256)
        pair = np.vstack([original.host, np.abs(stack.find_edges(original).host)])
        show(each, np.clip(pair, 0, 1), f"picture {number}", cmap="gray")
    save(figure, "dask_conv2d")


def fortran(build: Path, photograph: Path) -> None:
    row = re.compile(
        r"^(opengl:0) +(current|write and read|in place) +([\d.]+) ms +([\d.]+) MiB +[\d.]+ MiB +([\d.]+) MiB"
    )
    shown = run(build / "examples/conv2d_fortran", photograph, 2048, 2400)
    rows = [found for line in shown.splitlines() if (found := row.match(line))]
    names = [found[2] for found in rows]
    colours = [GREY, BLUE, GREEN]
    figure, (copied, held) = panels(2, "The convolution of the design document, in Fortran, by OpenGL's shaders")
    bars(copied, names, [float(found[4]) for found in rows], "copied a frame", colours, "MiB")
    bars(held, names, [float(found[5]) for found in rows], "memory held", colours, "MiB")
    save(figure, "fortran")


def main() -> None:
    build, photograph = Path(sys.argv[1]).absolute(), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        conv2d(build, folder, photograph)
        heat(build, folder)
        oversubscribe(build, folder)
        halo(build, folder)
        dask_conv2d()
        fortran(build, photograph)


main()
