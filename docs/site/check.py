"""Checks a built site: every link leads to something that is there, and no page asks for anything that is not.

.venv/bin/python docs/site/check.py site
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADS = {
    "script": ("src",), "img": ("src", "srcset"), "iframe": ("src",), "source": ("src", "srcset"), "object": ("data",),
    "embed": ("src",), "video": ("src", "poster"), "audio": ("src",), "track": ("src",), "link": ("href",),
    "input": ("src",), "image": ("href", "xlink:href"), "use": ("href", "xlink:href"),
}  # fmt: skip
"""Attributes that a browser fetches by itself."""

ELSEWHERE = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)
"""The beginning of an address of another place."""

STYLE = re.compile(r"(?:@import\s+|url\(\s*)[\"']?([^\"')\s;]+)")
"""Addresses that a style sheet fetches."""

SELF_CONTAINED = "reports"
"""The folder of pages that another test checks; here it is that they ask for nothing."""


@dataclass
class Page(HTMLParser):
    """A page: its anchors, the links that it has, and the addresses that it loads."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    style: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element is called, leads to and loads."""
        given = {name: value for name, value in attrs if value}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.loads += [given[name] for name in LOADS.get(tag, ()) if name in given]
        self.loads += STYLE.findall(given.get("style", ""))
        self.style = tag == "style"

    def handle_data(self, data: str) -> None:
        """Note what a style sheet within the page loads."""
        if self.style:
            self.loads += STYLE.findall(data)

    def handle_endtag(self, tag: str) -> None:
        """End a style sheet."""
        self.style = self.style and tag != "style"


def read(path: Path) -> Page:
    """A page of a file."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def problems(site: Path) -> Iterator[str]:
    """Problems of a site, a line each."""
    site = site.resolve()
    pages = {path: read(path) for path in sorted(site.rglob("*.html"))}
    if not pages:
        yield f"{site}: has no page"
    for path, page in pages.items():
        name = path.relative_to(site)
        for load in page.loads:
            if ELSEWHERE.match(load):
                yield f"{name}: loads {load}, which is not beside it"
            elif SELF_CONTAINED not in name.parts and (missing := _missing(path, load, pages)):
                yield f"{name}: loads {load}: {missing}"
        for link in page.links if SELF_CONTAINED not in name.parts else ():
            if missing := _missing(path, link, pages):
                yield f"{name}: links to {link}: {missing}"
    for path in sorted(site.rglob("*.css")):
        for load in STYLE.findall(path.read_text(encoding="utf-8")):
            if ELSEWHERE.match(load):
                yield f"{path.relative_to(site)}: loads {load}, which is not beside it"


def _missing(path: Path, address: str, pages: dict[Path, Page]) -> str:
    """The reason why an address leads nowhere; empty if it does not, or if it leads out of the site."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return ""
    there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not there.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    return "no such anchor" if anchor and there in pages and anchor not in pages[there].anchors else ""


if __name__ == "__main__":
    found = list(problems(Path(sys.argv[1])))
    print("\n".join(found) or f"{sys.argv[1]}: every link holds, and nothing is loaded from elsewhere")
    sys.exit(bool(found))
