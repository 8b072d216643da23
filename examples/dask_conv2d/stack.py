#!/usr/bin/env python3
"""stack.py: finds the edges in a stack of pictures, on the workers of a Dask cluster.

The pictures are buffers: each is sent to one worker, once, and stays in that worker's host memory until somebody
touches it on a device. The results come back as buffers too, and are compared with NumPy's of the same.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import unibuf
from distributed import Client, LocalCluster

EDGES = np.array([[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]], np.float32)


def picture(number: int, size: int) -> unibuf.UnifiedBuffer[np.float32]:
    """A disc on a slope; its place and width depend on the number."""
    rows, columns = np.mgrid[0:size, 0:size].astype(np.float32) / size
    inside = (rows - 0.3 - 0.05 * number) ** 2 + (columns - 0.5) ** 2 < (0.1 + 0.03 * number) ** 2
    result = unibuf.UnifiedBuffer((size, size))
    with result.write("host") as pixels:
        pixels[:] = inside + 0.25 * rows
    return result


def convolve(pixels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """3x3, with zeros around the picture."""
    padded = np.pad(pixels, 1)
    height, width = pixels.shape
    result = np.zeros_like(pixels)
    for row in range(3):
        for column in range(3):
            result += weights[row, column] * padded[row : row + height, column : column + width]
    return result


def convolve_by_windows(pixels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The same in one line of NumPy, and nine times the memory."""
    return np.einsum("ijkl,kl->ij", np.lib.stride_tricks.sliding_window_view(np.pad(pixels, 1), (3, 3)), weights)


def find_edges(of: unibuf.UnifiedBuffer[np.float32]) -> unibuf.UnifiedBuffer[np.float32]:
    result = unibuf.UnifiedBuffer(of.shape)
    with of.read("host") as pixels, result.write("host") as edges:
        edges[:] = convolve(pixels, EDGES)
    return result


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--pictures", type=int, default=6)
    options.add_argument("--size", type=int, default=256)
    options.add_argument("--workers", type=int, default=2)
    asked = options.parse_args()

    pictures = [picture(number, asked.size) for number in range(asked.pictures)]
    with (
        LocalCluster(n_workers=asked.workers, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        sent = client.scatter(pictures, hash=False)
        where = client.who_has(sent)
        workers = sorted(client.scheduler_info()["workers"])
        found = client.gather(client.map(find_edges, sent, pure=False))

        print("picture  worker  pixels on edges  as NumPy has it")
        wrong = 0
        for number, (future, original, edges) in enumerate(zip(sent, pictures, found, strict=True)):
            equal = np.allclose(edges, convolve_by_windows(original.host, EDGES), atol=1e-4)
            wrong += not equal
            worker = workers.index(where[future.key][0])
            print(f"{number:7}  {worker:6}  {np.count_nonzero(np.abs(edges) > 0.5):15}  {'yes' if equal else 'NO':>15}")
    print(f"{asked.pictures} pictures of {asked.size} x {asked.size}, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":  # workers import this file
    sys.exit(main())
