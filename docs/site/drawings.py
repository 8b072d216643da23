#!/usr/bin/env python3
"""drawings.py FOLDER: draws the pictures of docs/concepts.md. Colours follow the reader's light or dark scheme."""

import sys
from pathlib import Path

import drawsvg

STYLE = Path(__file__).with_name("drawings.css").read_text()


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


def main(folder):
    for draw in (directory, access, states):
        Path(folder, f"{draw.__name__}.svg").write_text(draw().made.as_svg() + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
