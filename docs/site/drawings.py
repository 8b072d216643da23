#!/usr/bin/env python3
"""drawings.py FOLDER: draws the pictures of README.md and docs/concepts.md.

Colours follow the reader's light or dark scheme. The figures are those of docs/suite.md.
"""

import math
import re
import sys
from pathlib import Path

import drawsvg

STYLE = Path(__file__).with_name("drawings.css").read_text()
SUITE = Path(__file__).parents[1] / "suite.md"


class Picture:
    """A drawing on paper of its own, so that it can be read on a page of any colour."""

    def __init__(self, width, height, title):
        self.made = drawsvg.Drawing(width, height, role="img", aria_label=title)
        self.made.append_title(title)
        self.made.append_css(STYLE)
        self.made.append(drawsvg.Rectangle(0, 0, width, height, class_="paper"))
        self.head = drawsvg.Marker(-8, -5, 1, 5, orient="auto", id="head")
        self.head.append(drawsvg.Lines(-8, -4, 0, 0, -8, 4, close=True, class_="head"))

    def text(self, x, y, text, kind=""):
        for number, line in enumerate(text.split("\n")):
            self.made.append(drawsvg.Text(line, None, x, y + 5 + 18 * number, class_=kind))

    def box(self, x, y, width, height, text="", kind="", words=""):
        self.made.append(drawsvg.Rectangle(x, y, width, height, rx=5, class_=kind))
        self.text(x + width / 2, y + height / 2 - 9 * text.count("\n"), text, words)

    def arrow(self, *points):
        """An arrow along the points."""
        path = drawsvg.Path(class_="arrow", marker_end=self.head).M(*points[0])
        for point in points[1:]:
            path.L(*point)
        self.made.append(path)


def directory():
    picture = Picture(760, 262, "The directory: byte ranges of a buffer, and in which copy each is current")
    ranges = [
        ("0 to 255", "current", "current", "read by both since\nit was written", "nothing moves"),
        ("256 to 511", "stale", "current", "a kernel\nhas written it", "a read at the host\nmoves these bytes"),
        ("512 to 767", "current", "stale", "the host\nhas written it", "a read at opencl:0\nmoves these bytes"),
        ("768 to 1023", "zero", "zero", "nobody\nhas written it", "zero for every reader:\nnothing moves"),
    ]
    picture.text(20, 68, "bytes", "left faint")
    picture.text(20, 113, "host", "left code")
    picture.text(20, 169, "opencl:0", "left code")
    for number, (range_, host, device, why, then) in enumerate(ranges):
        x = 110 + 160 * number
        picture.text(x + 75, 25, why, "faint")
        picture.text(x + 75, 68, range_, "code")
        picture.box(x, 90, 150, 46, host, host)
        picture.box(x, 146, 150, 46, device, device)
        picture.text(x + 75, 216, then, "faint")
    return picture


def access():
    picture = Picture(760, 546, "An access, step by step")
    steps = [
        ("1  wait for leases that exclude it", "timeout, or access_conflict\nwithin one thread"),
        ("2  allocate the copy, where there is none", "out_of_memory, after copies of\nothers have made room"),
        (
            "3  ask the coherence core:\nwhat lacks, given the directory and the access?",
            "pure: no memory, no lock, no clock",
        ),
        None,
        (
            "4  carry out the steps, and tell the directory\nof each that is done",
            "transfer_failed or device_lost:\nwhat was newest still is",
        ),
        (
            "5  grant: after a write its range is newest here,\nand stale everywhere else",
            "the lease, pointer or handle",
        ),
    ]
    y = 20
    for step in steps:
        if step:
            words, beside = step
            picture.box(30, y, 380, 56, words, "step")
            picture.text(440, y + 28 - 9 * beside.count("\n"), beside, "left faint")
        else:
            for number, (name, what) in enumerate(
                [("wait", "queued work"), ("move", "stale bytes"), ("publish", "shared bytes"), ("zero", "new bytes")]
            ):
                picture.box(30 + 97 * number, y, 89, 56)
                picture.text(74.5 + 97 * number, y + 20, name, "strong")
                picture.text(74.5 + 97 * number, y + 39, what, "faint small")
            picture.text(440, y + 28, "its answer: steps, each over a byte range", "left faint")
        if y < 440:
            picture.arrow((220, y + 57), (220, y + 88))
        y += 90
    return picture


def states():
    picture = Picture(760, 450, "The states of a buffer, and what leads from one to another")
    left, middle, right = 150, 380, 610
    dirty, mixed = 262, 392
    places = {
        "UNINITIALIZED": (middle, 40),
        "HOST_ONLY": (left, 120),
        "DEVICE_ONLY": (right, 120),
        "HOST_DIRTY": (left, dirty),
        "SYNCHRONIZED": (middle, dirty),
        "DEVICE_DIRTY": (right, dirty),
        "MIXED": (middle, mixed),
    }
    for side, name, to in ((-1, "host", left), (1, "device", right)):
        other = {"host": "device", "device": "host"}[name]
        edge = middle + side * 75  # of the states in the middle
        picture.arrow((edge, 50), (to, 50), (to, 96))
        picture.text(middle + side * 155, 62, f"allocate, {name}", "faint small")
        picture.arrow((edge, 32), (middle + side * 350, 32), (middle + side * 350, dirty), (to + side * 77, dirty))
        picture.text(middle + side * 215, 20, f"write at the {name}", "faint small")
        picture.arrow((to, 141), (to, dirty - 23))
        picture.text(to + side * 10, 190, f"write\nat the {name}", "faint small " + ("right" if side < 0 else "left"))
        picture.arrow((middle + side * 30, dirty - 21), (middle + side * 30, 130), (to - side * 77, 130))
        picture.text(middle + side * 92, 150, f"discard\nthe {other}'s", "faint small")
        picture.arrow((to - side * 75, dirty - 8), (middle + side * 77, dirty - 8))
        picture.text((middle + to) / 2, dirty - 62, f"read\nat the\n{other}", "faint small")
        picture.arrow((middle + side * 75, dirty + 8), (to - side * 77, dirty + 8))
        picture.text((middle + to) / 2, dirty + 24, f"write\nat the\n{name}", "faint small")
        picture.arrow((to - side * 20, dirty + 21), (to - side * 20, mixed - 8), (middle + side * 77, mixed - 8))
        picture.text(
            to - side * 28,
            mixed - 47,
            f"write a part\nat the {other}",
            "faint small " + ("left" if side < 0 else "right"),
        )
        picture.arrow((edge, mixed + 8), (to, mixed + 8), (to, dirty + 22))
        picture.text(middle + side * 155, mixed + 26, f"read at the {name}", "faint small")
    for name, (x, y) in places.items():
        picture.box(x - 75, y - 20, 150, 40, name, {"SYNCHRONIZED": "current", "MIXED": "stale"}.get(name, ""), "code")
    return picture


def figures(heading, column):
    """What a column of the table under a heading of the suite's page says of each program."""
    section = SUITE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = (row.split("|") for row in re.findall(r"^\| (.*) \|$", section, re.MULTILINE))
    head, *rows = ([cell.strip() for cell in row] for row in rows)
    return {row[0]: row[head.index(column)] for row in rows}


def bytes_moved():
    """Narrow, so that its words can be read on a phone."""
    unibuf, expert, everything = (
        {program: float(ratio) for program, ratio in figures("Bytes", version).items()}
        for version in ("unibuf", "expert", "copy all")
    )
    times = sorted(float(ratio) for ratio in figures("Time", "unibuf").values())
    characters, experts = (
        sum(int(cell.split("/")[1]) for cell in figures("Code", version).values()) for version in ("unibuf", "expert")
    )
    top, row = 92, 22
    bottom = top + row * len(unibuf) - 10
    picture = Picture(440, bottom + 60, "Bytes moved by the programs of the suite: unibuf, an expert, copying all")

    def place(ratio):
        return 150 + 65 * math.log10(ratio)

    def mark(kind, x, y):
        picture.made.append(drawsvg.Circle(x, y, {"unibuf": 4.5, "expert": 8}[kind], class_=kind))

    def bar(x, y, end):
        picture.made.append(drawsvg.Line(x, y, end, y, class_="bar"))

    picture.text(220, 20, "bytes moved, as a multiple of the least possible", "strong")
    mark("unibuf", 20, 50)
    picture.text(31, 50, "unibuf", "left")
    mark("expert", 100, 50)
    picture.text(115, 50, "expert, by hand", "left")
    bar(244, 50, 266)
    picture.text(274, 50, "copying all, each time", "left")
    for tick in (1, 10, 100, 1000):
        picture.made.append(drawsvg.Line(place(tick), top - 14, place(tick), bottom, class_="grid"))
        picture.text(place(tick), bottom + 14, f"{tick:,}", "faint")
    for number, program in enumerate(sorted(everything, key=everything.get, reverse=True)):
        y = top + row * number
        picture.text(132, y, program, "right")
        bar(place(1), y, place(everything[program]))
        times_least = f"{everything[program]:,.0f}" if everything[program] >= 10 else f"{everything[program]:.1f}"
        picture.text(place(everything[program]) + 7, y, times_least, "left faint")
        mark("expert", place(expert[program]), y)
        mark("unibuf", place(unibuf[program]), y)
    speed = f"unibuf: {times[0]:.2f} to {times[-1]:.2f} of the expert's time"
    picture.text(220, bottom + 42, f"{speed}, {1 - characters / experts:.0%} fewer characters", "faint")
    return picture


def main(folder):
    for draw in (directory, access, states, bytes_moved):
        Path(folder, f"{draw.__name__}.svg").write_text(draw().made.as_svg() + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
