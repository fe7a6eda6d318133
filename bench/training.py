"""Training runs for profile-guided optimisation in `make tuned` (`pgo-command` in pyproject.toml): typical short runs.

Covers every congestion control, queue and transport, with and without losses, from one flow to ten thousand. No
measurements are taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from scenarios import FLOW_MEASURES, SHORT, dumbbell, path, two_paths

from vazao import _core

FEW_PACKETS = '"100 packets"'


def entries(kind: str) -> list[str]:
    """Names of the registered algorithms of a kind."""
    return [entry["name"] for entry in json.loads(_core.registry())[kind]]


def scenarios() -> Iterator[str]:
    """Yield each training scenario."""
    yield from SHORT.values()
    yield dumbbell(10_000, "300 ms")
    yield two_paths().replace("20 s", "1 s")
    for control in entries("congestion control"):
        yield path(cc=control, until="300 ms", queue=FEW_PACKETS)
    for queue in entries("queue"):
        yield path(until="300 ms", queue=f'{{ kind = "{queue}", limit = "1 bdp" }}')
    for transport in ("tcp", "quic", "sctp"):
        yield path(cc="reno", transport=transport, until="500 ms", queue=FEW_PACKETS, flows=20)


def main() -> None:
    """Run each scenario, and one more with everything traced."""
    for scenario in scenarios():
        _core.run(_core.load(scenario))
    _core.run(_core.load(path(until="500 ms", queue=FEW_PACKETS)).with_trace(FLOW_MEASURES))


if __name__ == "__main__":
    main()
