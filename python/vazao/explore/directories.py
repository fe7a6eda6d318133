"""Results directories open in the explorer: tables, findings and figures of each."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from vazao import figures, results, study
from vazao.errors import ResultsError, VazaoError
from vazao.explore import columns
from vazao.store import Store

MAX_DIRECTORIES = 12


class Directory:
    """One results directory, which runs one query at a time."""

    def __init__(self, path: str | Path, label: str) -> None:
        """Open the directory and read its tables. Raises `ResultsError`."""
        self.path, self.label = Path(path), label
        self.store = Store(path)
        self._lock = threading.Lock()
        self._read: tuple[str, columns.Tables] | None = None
        if not self.tables.columns.get("runs"):
            raise ResultsError(f"{path}: holds no finished run")

    def query(self, sql: str, parameters: Mapping[str, object] | None = None) -> pl.DataFrame:
        """The rows of a query to the sandboxed database. Raises `ResultsError`."""
        with self._lock:
            return self.store.query(sql, parameters)

    @property
    def version(self) -> str:
        """Short fingerprint of the rows stored now; a running campaign adds more."""
        return hashlib.sha256(" ".join(self.store.batches()).encode()).hexdigest()[:12]

    @property
    def tables(self) -> columns.Tables:
        """The current tables."""
        version = self.version
        if self._read is None or self._read[0] != version:
            with self._lock:
                self._read = version, columns.read(self.store)
        return self._read[1]

    @cached_property
    def campaign(self) -> results.Campaign | None:
        """The study's campaign; None for a scenario, or a study that this version cannot read."""
        if self.store.manifest["kind"] != "study":
            return None
        try:
            return results.open_campaign(self.path)
        except VazaoError:
            return None

    def about(self) -> dict[str, Any]:
        """Facts for a page: title, question, counts, parts, factors with their labels in order."""
        manifest = self.store.manifest
        runs = self.query("SELECT count(*) AS n FROM runs")["n"][0]
        facts: dict[str, Any] = {
            "label": self.label, "path": str(self.path), "kind": manifest["kind"], "title": str(manifest["name"]),
            "runs": runs, "planned": manifest.get("runs", runs), "size": manifest.get("size", ""), "question": "",
            "parts": [], "factors": [{"name": name, "title": "", "labels": []} for name in self.tables.factors],
            "figures": [],
        }  # fmt: skip
        if "part" in self.tables.columns["runs"]:
            order = "SELECT DISTINCT part AS part FROM runs WHERE part IS NOT NULL ORDER BY part"
            facts["parts"] = [{"name": name, "title": "", "factors": []} for name in self.query(order)["part"]]
        if self.campaign:
            _describe(facts, self.campaign.study, "full" if facts["size"] == "full" else "quick")
        return facts

    def findings(self) -> list[dict[str, Any]]:
        """The ledger, each claim with its verdict and the figures that show it. Raises `VazaoError`."""
        if self.campaign is None:
            return []
        described = self.campaign.study
        not_run = self.query("SELECT * FROM not_run")
        shown: dict[str, list[dict[str, str]]] = {}
        for figure in described.figures:
            for name in figure.finding:
                shown.setdefault(name, []).append({"id": figure.id, "title": figure.title})
        fields = ("id", "claim", "reported", "per", "level", "verdict", "measured", "explanation", "criterion")
        ledger = study.findings.evaluate(described, self, not_run)
        return [
            {**{field: getattr(one, field) for field in fields}, "figures": shown.get(one.id, [])} for one in ledger
        ]

    def figure(self, name: str) -> str:
        """A figure of the study as SVG. Raises `VazaoError`."""
        for one in self.campaign.study.figures if self.campaign else []:
            if one.id == name and self.campaign:
                return figures.drawing(self.campaign.study, self, one, self.campaign.measurements).svg()
        raise ResultsError(f"{self.label}: there is no figure {name!r}")


def _describe(facts: dict[str, Any], described: study.Study, size: study.Size) -> None:
    """Add the study file's texts on the study, its parts, its factors and its figures."""
    facts |= {"title": described.title, "question": described.question}
    parts = {part.name: part for part in described.parts}
    order = {name: place for place, name in enumerate(parts)}
    facts["parts"].sort(key=lambda one: order.get(one["name"], len(order)))
    for one in facts["parts"]:
        if one["name"] in parts:
            part = parts[one["name"]]
            varied = [factor.name for factor in part.factors if len(factor.at(size)) > 1]
            one |= {"title": part.title, "factors": varied or part.factor_names}
    titles = {factor.name: factor.title for part in described.parts for factor in part.factors}
    for one in facts["factors"]:
        one |= {"title": titles.get(one["name"], ""), "labels": described.labels(one["name"])}
    drawn = ("id", "title", "kind", "x", "y", "color", "facet", "finding", "x_scale", "y_scale")
    facts["figures"] = [{name: getattr(figure, name) for name in drawn} for figure in described.figures]


def opened(paths: Iterable[str | Path]) -> list[Directory]:
    """Open directories, each under a unique label: its name, or its path where names clash. Raises `ResultsError`."""
    given = list(dict.fromkeys(str(path) for path in paths))
    if len(given) > MAX_DIRECTORIES:
        raise ResultsError(f"{len(given)} results directories are too many to be seen beside each other; name fewer")
    names = [Path(path).resolve().name or path for path in given]
    labels = [path if names.count(name) > 1 else name for path, name in zip(given, names, strict=True)]
    return [Directory(path, label) for path, label in zip(given, labels, strict=True)]


def plain(frame: pl.DataFrame) -> dict[str, list[Any]]:
    """Columns for JSON, with null for NaN and infinities."""
    return {name: [_plain(value) for value in frame[name].to_list()] for name in frame.columns}


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | bool) else str(value)
