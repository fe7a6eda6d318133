"""README.md of a results directory: its contents, and how a recipient explores and reproduces them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vazao.files import owned, write_atomically
from vazao.store.directory import MEASUREMENTS
from vazao.study import Study

README = "README.md"

PAPERS = ("letter.tex", "ledger.tex", "ledger.csv", "study.bib")
"""Files for a paper, next to the report of a study with claims."""

_PAPERS = ", ".join(PAPERS)

FILES = {
    "report.html": "figures, tables and claims in one page, which needs no network",
    "findings.json": "the claims with their verdicts",
    _PAPERS: "what came out on a page, all claims, and the sources, for a paper",
    "figures/": "each figure as SVG, PDF, PNG and as a Vega-Lite description with its numbers",
    "study.toml": "the study as it was run",
    "scenario.toml": "the scenario as it was run; changes to it and its seed are in `manifest.json`",
    "inputs/": "copies of the files that scenarios name, each under its SHA-256; `manifest.json` has their names",
    "runs/, flows/, paths/, links/, samples/": "the rows, as Parquet",
    "measurements/": "an author's own measurements as their files had them; `measurements.json` has their verdicts",
    "scenarios/": "the resolved scenario of each run, as JSON",
    "manifest.json": "what was run and with which versions",
}
"""Files of a results directory, in the order of their interest to a reader."""

STUDY_ONLY = ("report.html", "findings.json", _PAPERS, "figures/", "study.toml")
SCENARIO_ONLY = ("scenario.toml",)


def write(directory: Path, manifest: Mapping[str, Any], study: Study | None = None) -> None:
    """Write the README of a results directory, for a study or for a single run."""
    measured = owned(directory / MEASUREMENTS, folder=True)
    write_atomically(directory / README, text(manifest, study, measured=measured).encode())


def text(manifest: Mapping[str, Any], study: Study | None, *, measured: bool = False) -> str:
    """Text of the README. It names no location: its commands are for the directory that contains it."""
    title = _line(study.title if study else manifest["name"])
    versions = manifest["versions"]
    left_out = (*(SCENARIO_ONLY if study else STUDY_ONLY), *(() if measured else (MEASUREMENTS + "/",)))
    files = [f"| `{name.replace(', ', '`, `')}` | {what} |" for name, what in FILES.items() if name not in left_out]
    about = (
        [_line(part) for part in (study.question, study.source and f"Source: {study.source}.") if part] if study else []
    )
    runs = f"{manifest['runs']} planned runs ({manifest['size']})" if study else f"One run, `{manifest['run']}`"
    made = f"{runs} of `{manifest['name']}`, by Vazão {versions['vazao']} with engine {versions['engine']}."
    parts = [
        f"# {title}", *about, made, "The commands below are for a terminal in this directory, wherever it is now.",
        "## Look", _fenced(_commands_to_look(study)), "\n".join(["| file | what it is |", "| --- | --- |", *files]),
        "## Do it again", _fenced(_commands_to_repeat(manifest, study)), SAME, *_own_algorithms(manifest),
    ]  # fmt: skip
    return "\n\n".join(parts) + "\n"


SAME = """The same engine gives the same rows to the bit, on any machine and any number of cores; `vazao verify` says
where they differ, and names the engines where these do."""


def _commands_to_look(study: Study | None) -> list[str]:
    query = "vazao sql . 'SELECT run_id, seed, utilisation FROM runs'"
    return ["vazao show .", query, *(["vazao explore ."] if study else [])]


def _commands_to_repeat(manifest: Mapping[str, Any], study: Study | None) -> list[str]:
    verify = "vazao verify .                    # every stored run again, compared to the bit"
    if study is None:
        return [verify, f"vazao run ./{manifest['run']}      # the run, with --pcap or --trace if you like"]
    return [
        verify,
        "vazao run ./RUN_ID                # one run, compared too; with --pcap or --trace if you like",
        "vazao run . --out ../again        # the whole campaign anew, in another directory",
    ]


def _own_algorithms(manifest: Mapping[str, Any]) -> list[str]:
    """Paragraph on the user's own algorithms, which run only with permission."""
    files = sorted(name for name in manifest.get("inputs", {}) if name.endswith(".py"))
    if not files:
        return []
    named = ", ".join(f"`{_line(name)}`" for name in files)
    listed = (
        f"Runs use algorithms in Python ({named}), whose copies are in `inputs/`. Vazão lists them before it runs them;"
    )
    return [f"{listed}\nif you trust them, `--allow-programs` says so."]


def _fenced(lines: list[str]) -> str:
    return "\n".join(["```sh", *lines, "```"])


def _line(raw: str) -> str:
    """Text with its whitespace collapsed to one line."""
    return re.sub(r"\s+", " ", raw).strip()
