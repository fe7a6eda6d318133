"""`vz.play`: opens a Python scenario, an experiment or a TOML file in the laboratory, as a notebook widget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w

from vazao import widgets
from vazao.errors import ScenarioError
from vazao.results.experiment import Experiment
from vazao.scenario import Flow, Network, Plugins, document, load
from vazao.seeing import play_page
from vazao.study import Source, find, is_study, read_text

if TYPE_CHECKING:
    from vazao.widgets import Laboratory


def play(what: Network | Experiment | str | Path, flows: Sequence[Flow] | None = None, **keys: Any) -> Laboratory:
    """The laboratory with sliders, engine included, as a notebook widget: `.scenario` is what the sliders made of it.

    It starts with a network and its flows, `keys` being top-level keys of the scenario (`seed=2`, `until="30 s"`); with
    an experiment (`vz.load("wan.toml")`); or with the name of a file or of a built-in scenario. Raises `ScenarioError`,
    `StudyError`, `ResultsError` if the page is not built, and `ImportError` without the extra.
    """
    frames = widgets.frames()
    text, name = _text_and_name(what, flows, keys)
    made: Laboratory = frames.Laboratory(play_page(text, name), toml=text)
    return made


def _text_and_name(
    what: Network | Experiment | str | Path, flows: Sequence[Flow] | None, keys: dict[str, Any]
) -> tuple[str, str]:
    """Text and name of a scenario. Raises `ScenarioError` for anything that no page can play."""
    if isinstance(what, dict):
        if flows is None:
            raise ScenarioError("flows: are missing; a network is played with flows, as in vz.play(net, flows)")
        return _of_tables(document(what, flows, **keys))
    if flows is not None or keys:
        raise ScenarioError(f"{next(iter(keys), 'flows')}: goes with a network; of a file they are the file's own")
    if isinstance(what, Experiment):
        return _of_experiment(what)
    if not isinstance(what, str | Path):
        raise ScenarioError(
            f"{type(what).__name__}: cannot be played; give a network and flows, vz.load(FILE), or a file"
        )
    path = find(str(what))
    text = read_text(path)
    if is_study(text):
        raise ScenarioError(f"{path}: is a study; the laboratory plays scenarios")
    return text, load(text, file=str(path)).name


def _of_experiment(experiment: Experiment) -> tuple[str, str]:
    if experiment.variations:
        keys = ", ".join(varied.key for varied in experiment.variations)
        raise ScenarioError(f"{experiment.file}: {keys}: is varied; the laboratory plays one value, as in .set({{…}})")
    name = experiment.scenario.name
    changes = dict(experiment.overrides) | ({} if experiment.seed is None else {"seed": experiment.seed})
    if not changes:
        return experiment.text, name
    tables = Source(str(experiment.file), experiment.text).document
    for key, value in changes.items():
        _put(tables, key.split("."), value)
    return _of_tables(tables)


def _put(tables: Any, path: list[str], value: Any) -> None:
    """Set a key of a document; a bare kind on the path (`queue = "red"`) becomes the table that it abbreviates."""
    place: Any = int(path[0]) if isinstance(tables, list) else path[0]
    if len(path) == 1:
        tables[place] = value
        return
    inner = tables[place] if isinstance(tables, list) else tables.setdefault(place, {})
    if not isinstance(inner, dict | list):
        inner = tables[place] = {"kind": inner}
    _put(inner, path[1:], value)


def _of_tables(tables: dict[str, Any]) -> tuple[str, str]:
    plugins = Plugins()
    plain = plugins.named(tables)
    if own := [name for _, name, *_ in plugins.all()]:
        raise ScenarioError(f"{own[0]}: is a class of yours, which no page can run; choose a built-in one")
    text = tomli_w.dumps(plain)
    return text, load(text).name
