#!/usr/bin/env python3
"""browser.py SITE PICTURES: opens pages of the site from files in Chromium, in two widths and two colour schemes.

A page fails that asks the network for anything, that says anything to the console, or that is wider than its window;
and so does a search without results. Pictures of all are left for people.
"""

import sys
from itertools import product
from pathlib import Path

from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium-headless-shell"
PAGES = [
    "index.html",
    "docs/start.html",
    "docs/concepts.html",
    "docs/gpu.html",
    "reference/cpp/buffer.html",
    "reference/c/unibuf.html",
    "reference/fortran/gpu_unified_buffers.html",
    "reference/python/buffer.html",
    "search.html?q=lease",
]


def look(page, site, pictures, faults, looks):
    width, scheme = looks
    page.on("console", lambda told: faults.append(f"{page.url}: {told.text}"))
    page.on("pageerror", lambda error: faults.append(f"{page.url}: {error}"))
    page.on("request", lambda asked: asked.url.startswith("file:") or faults.append(f"{page.url} asks {asked.url}"))
    for name in PAGES:
        page.goto(f"{site.as_uri()}/{name}")
        if "search" in name:
            page.wait_for_selector("#search-results li", timeout=20_000)
        if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
            faults.append(f"{name} is {wide} wide in a window of {width}")
        picture = name.partition(".")[0].replace("/", "-")
        page.screenshot(path=pictures / f"{picture}-{width}-{scheme}.png")


def main(site, pictures):
    faults = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        for width, scheme in product((1400, 400), ("light", "dark")):
            page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme)
            look(page, site, pictures, faults, (width, scheme))
            page.close()
        browser.close()
    print("\n".join(faults) or f"{len(PAGES)} pages, in two widths and two colour schemes: {pictures}")
    return bool(faults)


sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2])))
