"""The documentation site builds without warnings, its links resolve, and a browser requests nothing from elsewhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import vazao
from browsers import local
from documents import DOCUMENTS, ROOT, Block, fenced, name, save, script
from vazao.study import catalogue, reference

pytestmark = pytest.mark.site

CELL = "{code-cell}"
"""Start of a notebook's cell."""

NEEDED = ("furo", "ipykernel", "myst_nb", "sphinx")
"""Libraries of the extra `[site]`."""


RUN_HERE = "docs/tutorials/researcher"
"""Notebook that is executed when the tests build the site; another test executes the cells of all notebooks."""


def cells(path: Path) -> list[Block]:
    return [block for block in fenced(path) if block.language.startswith(CELL)]


NOTEBOOKS = [path for path in DOCUMENTS if cells(path)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=name)
def test_cells_of_notebooks_show_what_stands_below_them(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    save(tmp_path)
    document = path.read_text(encoding="utf-8")
    text, pictures = script("docs/cells.py").written(path, document)
    assert text == document, "run .venv/bin/python docs/cells.py"
    assert [file for file in pictures if not file.is_file()] == []


def test_every_reader_has_a_tutorial_and_there_are_notebooks() -> None:
    pages = {name(path) for path in NOTEBOOKS}
    readers = ("researcher", "lecturer", "engineer", "developer")
    assert {f"docs/tutorials/{reader}.md" for reader in readers} <= pages
    assert len([page for page in pages if page.startswith("docs/notebooks/")]) >= 2


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if missing := [library for library in NEEDED if importlib.util.find_spec(library) is None]:
        pytest.skip(f"no {', '.join(missing)}: the extra [site] is not installed")
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-n", "-c", "docs/site"]
    command += ["-d", str(place / "doctrees"), "-b", "html", "-D", "vazao_results=", "-D", f"vazao_only={RUN_HERE}"]
    done = subprocess.run(
        [*command, ".", str(place / "html")], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    # A notebook's kernel may end while it waits for one more message on its control channel (ipykernel).
    assert (
        re.sub(r"Task was destroyed but it is pending!\ntask: <Task pending .*Kernel\.dispatch_.*\n", "", done.stderr)
        == ""
    )
    return place / "html"


def test_links_hold_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert list(script("docs/site/check.py").problems(site)) == []


def test_what_is_wrong_with_a_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="b.html">1</a><a href="#there">2</a><a href="https://example.org">3</a>'
        '<a href="a.html#here">4</a><script src="//example.org/x.js"></script><img src="no.svg">'
        "<style>@import 'https://example.org/x.css'; p { background: url(data:,) }</style>"
    )
    (tmp_path / "a.css").write_text("p { background: url(http://example.org/x.png) }")
    found = list(script("docs/site/check.py").problems(tmp_path))
    wrong = (
        "//example.org/x.js",
        "https://example.org/x.css",
        "no.svg",
        "b.html",
        "#there",
        "http://example.org/x.png",
    )
    assert len(found) == len(wrong)
    assert all(any(address in line for line in found) for address in wrong)


def text(site: Path, page: str) -> str:
    """Text of a page without its markup."""
    return unescape(re.sub(r"<[^>]+>", "", (site / page).read_text(encoding="utf-8")))


def test_the_references_have_every_name(site: Path) -> None:
    python = (site / "docs/reference/python.html").read_text(encoding="utf-8")
    assert [public for public in vazao.__all__ if f'id="vazao.{public}"' not in python] == []
    toml = text(site, "docs/reference/toml.html")
    assert [key.help for key in reference.known_keys() if plain(key.help) not in plain(toml)] == []
    reports = text(site, "docs/reports.html")
    assert [study.name for study in catalogue.of_kind(catalogue.STUDIES) if study.name not in reports] == []


def plain(text: str) -> str:
    """Text without links, markup and quotation marks of either kind."""
    return re.sub(r"[^\w]", "", re.sub(r"\]\([^)]*\)", "", text))


def test_a_notebook_ran_with_its_charts_as_drawings(site: Path) -> None:
    page = (site / f"{RUN_HERE}.html").read_text(encoding="utf-8")
    drawings = re.findall(r'<img [^>]*src="\.\./\.\./(_images/\w+\.svg)"', page)
    assert len(drawings) == 2
    assert all("<svg" in (site / drawing).read_text(encoding="utf-8") for drawing in drawings)


def test_search_finds_a_word_in_a_browser_without_a_server(site: Path, browser: Any) -> None:
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.wait_for_url("**/docs/index.html")
    page.fill("input[name=q]", "bufferbloat")
    page.press("input[name=q]", "Enter")
    page.wait_for_selector("#search-results li a")
    found = page.locator("#search-results li a").all_inner_texts()
    assert "Algorithms" in " ".join(found)
    assert [url for url in asked if not local(url)] == []
