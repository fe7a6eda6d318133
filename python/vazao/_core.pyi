"""The simulator: scenarios in, Arrow tables out. Written in Rust; this file is its face."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, final

ENGINE_VERSION: str
"""Version of the engine: part of every `run_id`."""

class VazaoError(Exception):
    """Anything Vazão reports to its user."""

class ScenarioError(VazaoError):
    """The input is wrong. The text names file, line, key, value and what would be accepted."""

class RunError(VazaoError):
    """A run failed: a defect or a lack of memory, not the user's mistake."""

@final
class Scenario:
    """A scenario, parsed and validated, every default filled in. Immutable."""

    @property
    def name(self) -> str: ...
    @property
    def json(self) -> str:
        """The resolved scenario as canonical JSON: the evidence that a result carries."""
    @property
    def run_id(self) -> str:
        """16 hexadecimal digits: a hash of `json` and the engine's version."""
    @property
    def seed(self) -> int: ...
    def with_trace(self, measures: list[str], every_s: float | None = None) -> Scenario:
        """The same scenario, recording time series of `measures` (at every change, or every `every_s` seconds)."""
    def graph(self) -> dict[str, Any]:
        """Nodes, links and flows, for drawing."""
    def hops(self) -> float:
        """A rough estimate of the packet-hops a run takes."""
    def guest_packets(self) -> float:
        """A rough estimate of how many packets its guests send and receive; 0 without guests."""

@final
class Ack:
    """What one acknowledgement told the sender: times in seconds, sizes in bytes."""

    now_s: float
    acked_bytes: int
    """Bytes cumulatively acknowledged for the first time; 0 for a duplicate."""
    delivered_bytes: int
    """Bytes newly known to have arrived."""
    flight_bytes: int
    """Bytes in flight before it."""
    rtt_s: float | None
    """The round-trip time it measured."""
    srtt_s: float | None
    min_rtt_s: float | None
    round: bool
    """Whether a round trip has passed since this was last true."""
    window_limited: bool
    """Whether the window was what limited the sender."""
    in_recovery: bool
    """Whether a loss is being repaired."""
    rate: RateSample | None
    """How fast data was delivered: only where the class says `wants_rate = True`, and not on every acknowledgement."""
    lost_bytes: int
    """Bytes that it showed to be lost; with `wants_rate = True`."""
    pipe_bytes: int
    """Bytes believed to be in the network after it."""

@final
class RateSample:
    """A delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation)."""

    rate_bps: float
    """Bits a second: `delivered_bytes` over `interval_s`."""
    delivered_bytes: int
    interval_s: float
    """The longer of the times it took to send the bytes and to acknowledge them."""
    prior_delivered_bytes: int
    """Bytes of the connection that were delivered when the packet was sent that the sample is of."""
    total_delivered_bytes: int
    """Bytes of the connection that are delivered now."""
    lost_bytes: int
    """Bytes presumed lost since that packet was sent."""
    tx_in_flight_bytes: int
    """Bytes in flight when that packet was sent, itself counted."""
    app_limited: bool
    """Whether the application, not the network, limited the sample."""

@final
class Sibling:
    """Another path of the connection, just before an acknowledgement or a sign of congestion on the own one."""

    cwnd_bytes: float
    ssthresh_bytes: float
    srtt_s: float | None
    told: float
    """What its control has as `told`."""

@final
class Congestion:
    """One sign of congestion."""

    now_s: float
    signal: Literal["loss", "restart", "timeout", "repeated-timeout"]
    flight_bytes: int

def load(
    text: str,
    *,
    file: str = "",
    table: str = "",
    overrides: Sequence[tuple[str, object]] = (),
    seed: int | None = None,
    controls: Sequence[tuple[str, type, str]] = (),
    kernels: Sequence[tuple[str, str, str, str, str, int]] = (),
) -> Scenario:
    """Read a scenario from the TOML `table` of `text` ("": the whole document) with `overrides` applied in order.

    `controls` are congestion controls of the user's own: name, class, digest of its code. `kernels` are those that
    guests can have: name, path, version, digest of the configuration, of the executable, timer frequency.

    Raises `ScenarioError`.
    """

def run(scenario: Scenario, *, pcap: str | None = None) -> Outcome:
    """Run a scenario; `pcap` names a directory that gets one capture per host interface."""

def run_many(
    scenarios: Sequence[Scenario],
    *,
    jobs: int,
    on_outcome: Callable[[int, Outcome], None],
    on_tick: Callable[[], None],
) -> None:
    """Run scenarios on `jobs` threads. Both functions are called in the calling thread, `on_tick` every 50 ms."""

@final
class Outcome:
    """What a run measured."""

    @property
    def run_id(self) -> str: ...
    @property
    def failure(self) -> str | None:
        """Why the run failed, if it did; its tables are then empty."""
    @property
    def not_run(self) -> str | None:
        """Why it was not run at all, if what it needs is not there; its tables are then empty."""
    def table(self, name: str) -> Any:
        """Rows of "runs", "flows", "paths", "links" or "samples": anything that reads Arrow streams takes them."""

def packets(path: str) -> Any:
    """The packets of a pcapng file, one row each: anything that reads Arrow streams takes them.

    Raises `OSError` and `ScenarioError`.
    """

def registry() -> str:
    """Every algorithm a scenario can name, as JSON: kind -> entries with names, source and parameters."""
