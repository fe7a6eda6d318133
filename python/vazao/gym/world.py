"""Scenarios of an environment: each episode runs one, with a random seed and random values of the varied keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

from numpy.random import Generator

from vazao import _core
from vazao.errors import ScenarioError
from vazao.execution import reject_unapproved_code
from vazao.gym.agent import Agent, own
from vazao.gym.randomisation import draw_of, extremes
from vazao.results import Experiment, load as load_experiment
from vazao.scenario import Flow, Network, Plugins, document, link, load, point_to_point, upload

Described = Network | str | Path | Experiment | None
"""Description of a world: a network with flows, a TOML file, the name of a built-in one, or a result of `vz.load`."""

LARGEST_SEED = 2**31
"""Upper bound of the seeds of episodes, exclusive."""


class World:
    """A scenario that is loaded again for each episode."""

    def __init__(
        self,
        described: Described,
        flows: Sequence[Flow] | None,
        tables: Sequence[int],
        *,
        until: str | None,
        vary: Mapping[str, Any] | None,
        allow_programs: bool,
    ) -> None:
        self._more: dict[str, Any] = {"allow_programs": allow_programs}
        self._plugins = [own()]
        if described is None or isinstance(described, Network):
            self._text, changes = "", self._built(described, flows)
        else:
            if flows is not None:
                raise ScenarioError("flows: a file has flows of its own; leave them out, or give a network")
            self._text, changes = self._read(described, allow_programs)
        agents = [(f"flow.{table}.transport.cc", Agent.__name__) for table in tables]
        ends = [] if until is None else [("until", until)]
        self._changes: list[tuple[str, Any]] = [*changes, *ends, *agents]
        self._draws = {key: draw_of(key, given) for key, given in (vary or {}).items()}
        reject_unapproved_code([self._load(1, {})])
        for key, draw in self._draws.items():
            for value in extremes(draw):
                self._check(key, value)

    def _built(self, network: Network | None, flows: Sequence[Flow] | None) -> list[tuple[str, Any]]:
        """A scenario of a network and flows; without either, an upload over 10 Mbit/s and a round trip of 40 ms."""
        tables = document(
            deepcopy(network) if network is not None else point_to_point(link("10 Mbps", "20 ms", queue="1 bdp")),
            deepcopy(list(flows)) if flows is not None else [Flow(app=upload())],
            name="environment",
        )
        if network is None or flows is None:
            tables["until"] = "30 s"
        plugins = Plugins()
        changes = list(plugins.named(tables).items())
        self._plugins += [each for each in plugins.all() if each[2] is not Agent]
        return changes

    def _read(self, described: str | Path | Experiment, allow_programs: bool) -> tuple[str, list[tuple[str, Any]]]:
        experiment = (
            described
            if isinstance(described, Experiment)
            else load_experiment(described, allow_programs=allow_programs)
        )
        if not isinstance(experiment, Experiment):
            raise ScenarioError(f"{described}: is a study; an environment is made of a scenario")
        if experiment.variations:
            raise ScenarioError(f"{experiment.file}: is varied; say what varies between episodes by vary={{…}}")
        self._more |= {"file": str(experiment.file), "inputs": experiment.inputs}
        self._more["allow_programs"] |= experiment.allow_programs
        return experiment.text, list(experiment.overrides)

    def _load(self, seed: int, changes: Mapping[str, Any]) -> _core.Scenario:
        overrides = [*self._changes, *changes.items()]
        return load(self._text, overrides=overrides, seed=seed, plugins=self._plugins, **self._more)

    def _check(self, key: str, value: Any) -> None:
        try:
            self._load(1, {key: value})
        except ScenarioError as error:
            raise ScenarioError(f"vary: {key} = {value!r}: {error}") from None

    def draw(self, random: Generator, options: Mapping[str, Any]) -> tuple[_core.Scenario, dict[str, Any]]:
        """Draw the seed and the varied keys; returns the scenario and the values. Raises `ScenarioError`.

        `options` fix values that are not to be drawn: `{"seed": 1, "set": {"network.link.rate": "5 Mbps"}}`.
        """
        if unknown := [key for key in options if key not in ("seed", "set")]:
            raise ScenarioError(f'options: there is no {unknown[0]!r}; there are "seed" and "set"')
        seed = int(random.integers(1, LARGEST_SEED))
        drawn = {key: draw(random) for key, draw in self._draws.items()}
        drawn |= options.get("set", {})
        return self._load(int(options.get("seed", seed)), drawn), drawn
