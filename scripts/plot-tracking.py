#!/usr/bin/env python3
"""Draws docs/write-tracking.svg from what bench/tracking_methods wrote: plot-tracking.py FILE.json > write-tracking.svg"""

import json
import math
import sys

COLOURS = {"kernel": "#0b6e4f", "signal": "#b5651d", "compare": "#4056a1", "copy all": "#888888"}
NAMES = {"kernel": "kernel (userfaultfd)", "signal": "mprotect and a signal", "compare": "comparing with a copy",
         "copy all": "copy all, find nothing"}
WIDTH, HEIGHT = 880, 640
PANEL_WIDTH, PANEL_HEIGHT = 330, 200
LEFT, TOP, ACROSS, DOWN = 75, 75, 430, 275
SIZES = (256, 2**28 * 1.5)
TIMES = (0.03, 1e6)  # microseconds


def text(x, y, content, anchor="middle", size=12, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}">'
            f"{content}</text>")


def line(x1, y1, x2, y2, colour="#dddddd"):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def share(value, limits):
    return math.log(value / limits[0]) / math.log(limits[1] / limits[0])


def size_name(value):
    for unit, bytes_of in (("MiB", 2**20), ("KiB", 2**10)):
        if value >= bytes_of:
            return f"{value // bytes_of} {unit}"
    return f"{value} B"


def time_name(us):
    for unit, factor in (("s", 1e6), ("ms", 1e3), ("us", 1)):
        if us >= factor:
            return f"{us / factor:g} {unit}"
    return f"{us * 1e3:g} ns"


class Panel:
    def __init__(self, index):
        self.left = LEFT + index % 2 * ACROSS
        self.top = TOP + index // 2 * DOWN

    def at(self, size, us):
        return (self.left + share(size, SIZES) * PANEL_WIDTH, self.top + (1 - share(us, TIMES)) * PANEL_HEIGHT)

    def frame(self, title):
        yield text(self.left + PANEL_WIDTH / 2, self.top - 10, title, size=14, weight="bold")
        for power in range(-1, 7):
            _, y = self.at(SIZES[0], 10**power)
            yield line(self.left, y, self.left + PANEL_WIDTH, y)
            yield text(self.left - 6, y + 4, time_name(10**power), "end", 11)
        for size in (256, 2**12, 2**16, 2**20, 2**28):
            x, _ = self.at(size, 1)
            yield line(x, self.top, x, self.top + PANEL_HEIGHT)
            yield text(x, self.top + PANEL_HEIGHT + 16, size_name(size), size=11)

    def curve(self, by, rows):
        points = [self.at(row["bytes"], row["round_us"]) for row in sorted(rows, key=lambda row: row["bytes"])]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline points="{path}" fill="none" stroke="{COLOURS[by]}" stroke-width="2"/>'
        for x, y in points:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[by]}"/>'


def draw(measured):
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           'fill="#222222">')
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>'
    for index, (by, name) in enumerate(NAMES.items()):
        x = LEFT + index * 200
        yield f'<line x1="{x}" y1="24" x2="{x + 24}" y2="24" stroke="{COLOURS[by]}" stroke-width="3"/>'
        yield text(x + 30, 28, name, "start")
    for index, written in enumerate(dict.fromkeys(row["written"] for row in measured)):
        panel = Panel(index)
        yield from panel.frame(f"written: {written}")
        for by in NAMES:
            yield from panel.curve(by, [row for row in measured if row["written"] == written and row["by"] == by
                                        and row["pages"] == "small"])
    yield text(WIDTH / 2, HEIGHT - 12, "One round: write, find and copy what was found, by the size of the buffer")
    yield "</svg>"


if len(sys.argv) != 2:
    sys.exit(__doc__)
with open(sys.argv[1], encoding="utf-8") as file:
    print("\n".join(draw(json.load(file))))
