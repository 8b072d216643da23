#!/usr/bin/env python3
"""gpu-table.py BENCH.JSON TABLE.JSON [double]: what unibuf_bench measured of transfers, beside torch and CuPy, measured here.

BENCH.JSON is the summary of the claims `cuda.*`. Prints a table of transfers and one of claims, and writes both to TABLE.JSON.
Packages that are missing are named; their columns stay empty. A goal that is missed is MISSED, and is no failure.
"""

import json
import re
import sys
import time

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
AT_LEAST_OF_TORCH = 2  # for pageable memory from 16 MiB on
LARGE = 16 << 20
REPEATS = 7


def transfers(claims):
    """(memory, direction, size text) -> {"unibuf", "driver"} in GB/s."""
    found = {}
    for claim in claims:
        kind = re.fullmatch(r"cuda\.(pinned|pageable)\.(bandwidth|small)", claim["name"])
        for case in claim["cases"] if kind else []:
            direction, size = case["name"].split(", ")
            found[kind[1], direction, size] = {"unibuf": case["measured"], "driver": case["limit"]}
    return found


def bytes_of(size):
    number, unit = size.split()
    return int(number) * UNITS[unit]


def fastest(work, wait, count):
    """GB/s of the fastest run; small ones are many in a run."""
    inner = max(1, min(200, (8 << 20) // count))
    best = float("inf")
    for _ in range(REPEATS):
        begin = time.perf_counter()
        for _ in range(inner):
            work()
            wait()
        best = min(best, (time.perf_counter() - begin) / inner)
    return count / best / 1e9


class Torch:
    name = "torch"

    def __init__(self):
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch sees no CUDA device")
        self.torch, self.version = torch, torch.__version__

    def measure(self, memory, direction, count):
        torch = self.torch
        here = torch.ones(count, dtype=torch.uint8, pin_memory=memory == "pinned")
        there = torch.ones(count, dtype=torch.uint8, device="cuda:0")
        to, source = (there, here) if direction == "to device" else (here, there)
        work = lambda: to.copy_(source, non_blocking=memory == "pinned")  # noqa: E731
        return fastest(work, torch.cuda.synchronize, count)


class CuPy:
    name = "CuPy"

    def __init__(self):
        import cupy
        import numpy

        cupy.cuda.Device(0).use()
        cupy.zeros(1)
        self.cupy, self.numpy, self.version = cupy, numpy, cupy.__version__

    def measure(self, memory, direction, count):
        cupy, numpy = self.cupy, self.numpy
        if memory == "pinned":
            here = numpy.frombuffer(cupy.cuda.alloc_pinned_memory(count), numpy.uint8, count)
        else:
            here = numpy.empty(count, numpy.uint8)
        here[:] = 1
        there = cupy.ones(count, cupy.uint8)
        if direction == "to device":
            return fastest(lambda: there.set(here), cupy.cuda.Device().synchronize, count)
        return fastest(lambda: there.get(out=here), cupy.cuda.Device().synchronize, count)


def others():
    """Those that can be used here, and why the others cannot."""
    usable, missing = [], []
    for each in (Torch, CuPy):
        try:
            usable.append(each())
        except Exception as why:  # a package that is there may find no driver
            missing.append(f"SKIP {each.name}: {why}")
    return usable, missing


def measure_beside(found, usable):
    for (memory, direction, size), row in found.items():
        for each in usable:
            try:
                row[each.name] = each.measure(memory, direction, bytes_of(size))
            except Exception as why:
                print(f"SKIP {each.name}, {memory} {direction} {size}: {why}")


def of_torch(found):
    """The claim that needs torch, as unibuf_bench writes its own."""
    cases = [
        {"name": f"{direction}, {size}", "measured": row["unibuf"], "limit": row["torch"],
         "ratio": row["unibuf"] / row["torch"]}
        for (memory, direction, size), row in found.items()
        if memory == "pageable" and bytes_of(size) >= LARGE and "torch" in row
    ]
    claim = {"name": "cuda.pageable.torch", "unit": "GB/s", "goal": f"ratio >= {AT_LEAST_OF_TORCH}", "holds": None,
             "measured": None, "limit": None, "ratio": None, "note": "" if cases else "torch is not here", "cases": cases}
    if cases:
        worst = min(cases, key=lambda case: case["ratio"])
        claim.update({key: worst[key] for key in ("measured", "limit", "ratio")}, note=worst["name"],
                     holds=worst["ratio"] >= AT_LEAST_OF_TORCH)
    return claim


def text(value):
    return "-" if value is None else f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def main(bench, table, driver="real"):
    claims = [claim for claim in json.load(open(bench)) if claim["name"].startswith("cuda.")]
    found = transfers(claims)
    usable, missing = others() if found else ([], [])
    measure_beside(found, usable)
    claims.append(of_torch(found))

    print("\n".join(missing + [f"{each.name} {each.version}" for each in usable]))
    print("\nGB/s, the fastest of several runs:")
    names = ["unibuf", "driver", "torch", "CuPy"]
    rows = [["memory", "way", "size", *names]]
    for key, row in found.items():
        rows.append([*key, *(text(row.get(name)) for name in names)])
    print_table(rows)

    verdicts = {True: "holds", False: "MISSED", None: "-"}
    print()
    rows = [["claim", "measured", "limit", "unit", "ratio", "goal", "", ""]]
    for claim in claims:
        rows.append([claim["name"], text(claim["measured"]), text(claim["limit"]), claim["unit"], text(claim["ratio"]),
                     claim["goal"], verdicts[claim["holds"]], claim.get("note", "")])
    print_table(rows)

    with open(table, "w") as file:
        json.dump({"driver": driver, "versions": {each.name: each.version for each in usable},
                   "transfers": [dict(zip(("memory", "way", "size"), key), **row) for key, row in found.items()],
                   "claims": claims}, file, indent=4)
    counts = [sum(claim["holds"] is verdict for claim in claims) for verdict in (True, False, None)]
    print(f"\n{counts[0]} claims hold, {counts[1]} are missed, {counts[2]} could not be settled"
          + ("; test double: figures mean nothing" if driver == "double" else ""))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
