"""Runs scenarios on Vazão's engine or ns-2; rejects those with Python code that the user has not allowed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from vazao import _core, ns2
from vazao.errors import ScenarioError

if TYPE_CHECKING:
    from vazao.store import Outcome


def reject_unapproved_code(scenarios: Iterable[_core.Scenario]) -> None:
    """Reject scenarios with code from a file that was not allowed to run. Raises `ScenarioError`."""
    for scenario in scenarios:
        if refused := [name for name, allowed in scenario.code if not allowed]:
            raise ScenarioError(
                f"{scenario.name}: {', '.join(refused)} is Python code, which can do all that you can; if you trust "
                "it, write load(…, allow_programs=True)"
            )


def run(
    scenario: _core.Scenario,
    *,
    pcap: str | None = None,
    snap: int | None = None,
    qlog: str | None = None,
    on_tick: Callable[[float], None] | None = None,
) -> Outcome:
    """Run one scenario like `_core.run`. Raises `ScenarioError` for files that another simulator cannot write."""
    if snap is not None and pcap is None:
        raise ScenarioError("--snap: cuts the packets of captures; name a directory for them, as in --pcap captures")
    reject_unapproved_code([scenario])
    if not ns2.plays(scenario):
        return _core.run(scenario, pcap=pcap, snap=snap, qlog=qlog, on_tick=on_tick)
    if option := "pcap" if pcap else "qlog" if qlog else None:
        raise ScenarioError(f'--{option}: ns-2\'s packets have no bytes; leave it out, or write stack = "vazao"')
    return ns2.run(scenario, on_tick=on_tick)


def run_many(
    scenarios: Sequence[_core.Scenario],
    *,
    jobs: int,
    on_outcome: Callable[[int, Outcome], None],
    on_tick: Callable[[], None],
) -> None:
    """Run scenarios like `_core.run_many`: the engine's first, then those of other simulators, a process per core."""
    reject_unapproved_code(scenarios)
    foreign = [index for index, scenario in enumerate(scenarios) if ns2.plays(scenario)]
    ours = sorted(set(range(len(scenarios))) - set(foreign))
    for indices, simulate in ((ours, _core.run_many), (foreign, ns2.run_many)):

        def forward(place: int, outcome: Outcome, indices: Sequence[int] = indices) -> None:
            on_outcome(indices[place], outcome)

        if indices:
            simulate([scenarios[index] for index in indices], jobs=jobs, on_outcome=forward, on_tick=on_tick)
