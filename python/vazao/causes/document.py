"""Canonical form of a scenario as a document to change: a flow, its transport, the links on its way."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from vazao import _core
from vazao.errors import ScenarioError
from vazao.scenario import from_json
from vazao.units import parse

PACKET = 1500
"""Bytes of a full packet."""

Direction = dict[str, Any]
"""One direction of a link: rate, delay, queue, and what its wire does."""


class Document:
    """A scenario's canonical form, and which of its flows is asked about."""

    def __init__(self, scenario: _core.Scenario, flow: int, **beside: Any) -> None:
        """`beside` is what `from_json` needs for files and code that the scenario names."""
        self.name, self._beside = scenario.name, beside
        self.seed, self.draws_flows = scenario.seed, scenario.draws_flows
        self.text = scenario.json
        self.number = flow
        flows = json.loads(self.text)["flow"]
        if not 0 <= flow < len(flows):
            there = "there is 1 flow" if len(flows) == 1 else f"there are {len(flows)} flows"
            raise ScenarioError(f"--flow {flow}: {there}, numbered from 0")

    def fresh(self) -> dict[str, Any]:
        """A copy to change."""
        document: dict[str, Any] = json.loads(self.text)
        return document

    def scenario(self, document: Mapping[str, Any] | None = None) -> _core.Scenario:
        """The scenario that a changed copy describes. Raises `ScenarioError` if there is none."""
        text = self.text if document is None else json.dumps(document)
        return from_json(text, name=self.name, **self._beside)

    def flow(self, document: dict[str, Any]) -> dict[str, Any]:
        """The flow asked about."""
        flow: dict[str, Any] = document["flow"][self.number]
        return flow

    def transport(self, document: dict[str, Any]) -> dict[str, Any]:
        """The transport of the flow asked about."""
        transport: dict[str, Any] = self.flow(document)["transport"]
        return transport

    def way(self, document: dict[str, Any]) -> list[tuple[Direction, Direction]]:
        """Directions of links between its hosts, by the fewest links: each of the data's way, and of the way back."""
        flow = self.flow(document)
        ends = [flow["client"].split(".")[0], flow["server"].split(".")[0]]
        start, goal = ends if flow["app"].get("kind") != "download" else reversed(ends)
        before: dict[str, tuple[str, Direction, Direction]] = {}
        waiting = deque([start])
        while waiting and goal not in before:
            node = waiting.popleft()
            for link in document["network"]["link"]:
                for near, far, there, back in (
                    (link["from"], link["to"], "forward", "reverse"),
                    (link["to"], link["from"], "reverse", "forward"),
                ):
                    if near == node and far != start and far not in before:
                        before[far] = (node, link[there], link[back])
                        waiting.append(far)
        way = []
        while goal in before:
            goal, *directions = before[goal]
            way.append((directions[0], directions[1]))
        return way[::-1]


def narrowest(way: Sequence[tuple[Direction, Direction]]) -> float | None:
    """Lowest rate of the data's way in bit/s, of those that do not vary; None without any."""
    return min((rate for there, _ in way if (rate := number(there["rate"], "bps")) is not None), default=None)


def round_trip(way: Sequence[tuple[Direction, Direction]]) -> float:
    """Propagation delay there and back in seconds; delays that vary count as none."""
    return sum(number(one.get("delay", "0 s"), "s") or 0.0 for pair in way for one in pair)


def number(value: Any, unit: str) -> float | None:
    """A quantity of the document in `bps`, `s` or `bytes`; None for other kinds of values."""
    found = parse(value) if isinstance(value, str) else None
    return found[1] if found and found[0] == unit else None
