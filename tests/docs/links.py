#!/usr/bin/env python3
"""links.py SITE: whether each link of the pages leads to a place in the site, and all that they load is there."""

import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

LOADED = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")


def main(site):
    pages = {path: BeautifulSoup(path.read_text(), "html.parser") for path in site.rglob("*.html")}
    places = {path: {each["id"] for each in page.find_all(id=True)} for path, page in pages.items()}
    faults, links = [], 0
    for path, page in pages.items():
        for element in page.find_all(lambda each: each.get("href") or each.get("src")):
            links += 1
            target = urlsplit(element.get("href") or element["src"])
            is_load = element.name != "a" and element.get("rel") not in (["search"], ["next"], ["prev"], ["index"])
            if target.scheme in ("http", "https", "") and target.netloc:
                if is_load:
                    faults.append(f"{path} loads {target.geturl()}")
            elif not target.scheme:
                to = (path.parent / unquote(target.path)).resolve() if target.path else path.resolve()
                if not to.is_file():
                    faults.append(f"{path} links to {target.path}, which is not there")
                elif target.fragment and to in places and unquote(target.fragment) not in places[to]:
                    faults.append(f"{path} links to {target.geturl()}, where no such place is")
    for path in site.rglob("*.css"):
        for first, second in LOADED.findall(path.read_text()):
            if urlsplit(first or second).netloc:
                faults.append(f"{path} loads {first or second}")
    print("\n".join(faults) or f"{len(pages)} pages, {links} links")
    assert links > 1000, "the pages are not found"
    return bool(faults)


sys.exit(main(Path(sys.argv[1]).resolve()))
