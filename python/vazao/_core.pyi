"""The simulator: scenarios in, Arrow tables out. Written in Rust; this file is its face."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, SupportsIndex, TypeAlias, final

ENGINE_VERSION: str
"""Version of the engine: part of every `run_id`."""

MEASURES: dict[str, tuple[str, str]]
"""Title and unit of each measure that can be traced over time. Their names, unlike columns', do not tell a unit."""

STACKS: dict[str, tuple[Literal["machine", "guest", "library", "simulator"], list[str]]]
"""The mechanism by which each stack plays, and the transports that it plays; the first stack is the usual one."""

class VazaoError(Exception):
    """Anything Vazão reports to its user."""

class ScenarioError(VazaoError):
    """The input is wrong. The text names file, line, key, value and what would be accepted; so do its attributes."""

    file: str | None
    line: int | None
    key: str | None
    """The key with the tables it is in, list items by number: `flow.0.transport.cc`."""
    value: str | None
    """The value as it stands in the file; None for a key that is missing."""
    problem: str | None
    """The mistake, and what would be accepted."""
    suggestion: str | None
    """The nearest name that would be accepted."""

class RunError(VazaoError):
    """A run failed: a defect or a lack of memory, not the user's mistake."""

    scenario: Scenario | None
    """The scenario of the run that failed; None where no run of its own did."""

@final
class Scenario:
    """A scenario, parsed and validated, every default filled in. Immutable."""

    @property
    def name(self) -> str: ...
    @property
    def json(self) -> str:
        """The resolved scenario as canonical JSON, which `from_json` reads: the evidence that a result carries."""
    @property
    def run_id(self) -> str:
        """16 hexadecimal digits: a hash of `json` and the engine's version."""
    @property
    def seed(self) -> int: ...
    @property
    def until_s(self) -> float | None:
        """Time at which the run ends at the latest."""
    @property
    def inputs(self) -> list[tuple[str, Path, str]]:
        """The files that it names: name, path, and the SHA-256 of what they held."""
    @property
    def code(self) -> list[tuple[str, bool]]:
        """The algorithms in files that it names (`mine.py:Cautious`), each with whether it may be run."""
    @property
    def has_own_algorithms(self) -> bool:
        """Whether it runs algorithms of the user's own: classes, or code in files."""
    @property
    def kernels(self) -> dict[str, str | None]:
        """The kernels of its guests by name, each with its executable's SHA-256; None where it is not built."""
    @property
    def simulators(self) -> dict[str, str | None]:
        """The simulators that run it instead of this engine, each with its executable's SHA-256; None without one."""
    @property
    def draws_flows(self) -> bool:
        """Whether its seed also decided which flows there are, or when they start."""
    @property
    def transports(self) -> set[str]:
        """Names of its flows' transports."""
    @property
    def programs(self) -> list[str]:
        """The commands that run in its guests, each once."""
    def run_ids(self, seeds: list[int]) -> list[str] | None:
        """Return its run_ids under seeds; None if the seed also decides which flows there are, or when they start."""
    def with_seeds(self, seeds: list[int]) -> list[Scenario] | None:
        """Return copies under seeds, as `with_seed` does; None if one of them has to be read again."""
    def with_trace(self, measures: list[str], every_s: float | None = None) -> Scenario:
        """Return this scenario recording time series of `measures` (at every change, or every `every_s` seconds)."""
    def with_seed(self, seed: int) -> Scenario:
        """Return this scenario under another seed.

        Raises `ScenarioError` if it `draws_flows`.
        """
    def with_until(self, seconds: float) -> Scenario:
        """Return this scenario ending after so many seconds, if it does not end earlier."""
    def graph(self) -> dict[str, Any]:
        """Nodes, links and flows, for drawing."""
    def work(self) -> Work:
        """Return roughly what a run takes."""

@final
class Work:
    """Rough estimate of a run's work."""

    def __init__(self, hops: float, guest_packets: float, guests: int, has_programs: bool) -> None: ...
    @property
    def hops(self) -> float:
        """Times a packet crosses a link."""
    @property
    def guest_packets(self) -> float:
        """Packets that guests send or receive."""
    @property
    def guests(self) -> int:
        """Number of guests."""
    @property
    def has_programs(self) -> bool:
        """Whether programs run in them, whose work nobody can estimate."""

@final
class Session:
    """A run in steps, in which an agent sets the windows and rates of flows. It belongs to the thread that made it."""

    FIELDS: list[str]
    """Names of the numbers that a step tells of each agent."""
    def __init__(self, scenario: Scenario, tables: Sequence[int]) -> None:
        """Build the world of a scenario, in which the flows of these `[[flow]]` tables are steered."""
    @property
    def flows(self) -> list[int]:
        """Numbers of the flows that are steered, in the order in which agents are told."""
    def look(self) -> list[list[float]]:
        """Numbers of each agent before the first step."""
    def step(
        self, actions: Sequence[tuple[float, float]], length: float, in_rtts: bool
    ) -> tuple[list[list[float]], list[bool], bool]:
        """Set each agent's window in bytes and rate in bit/s (0: unpaced); run on for so many seconds or round trips.

        Gives the numbers of the step and whether the flow is over for each agent, and whether the run is at its end.
        """
    def result(self) -> tuple[Scenario, Outcome]:
        """Return the tables of the run so far, and the scenario with the actions in its identity."""

@final
class Ack:
    """An acknowledgement as the sender sees it: times in seconds, sizes in bytes."""

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
    """Sample of the delivery rate: only where the class says `wants_rate = True`, and not on every acknowledgement."""
    lost_bytes: int
    """Bytes that it showed to be lost; with `wants_rate = True`."""
    pipe_bytes: int
    """Bytes believed to be in the network after it."""

@final
class Window:
    """A window below its threshold: sizes in bytes."""

    cwnd_bytes: float
    ssthresh_bytes: float
    """Slow-start threshold; infinite while there is none."""
    mss: float

@final
class RandomStream:
    """Random numbers of a run: its seed and what draws them decide which they are."""

    def uniform(self) -> float:
        """A number from 0 to below 1."""
    def below(self, bound: int) -> int:
        """A whole number from 0 to below `bound`."""
    def exponential(self, mean: float) -> float: ...
    def normal(self) -> float:
        """A number of the standard normal distribution."""

@final
class LinkInfo:
    """One direction of a link, as an algorithm at it knows it."""

    name: str
    """Name and direction: "bottleneck/forward"."""
    rate_bps: int | None
    """Rate, on average where it varies; None for a loss model, as the next three are."""
    base_rtt_s: float | None
    """The longest base round-trip time of the flows that cross it."""
    limit_packets: int | None
    """The most packets that may wait, and the most bytes; None where there is no such limit."""
    limit_bytes: int | None
    random: RandomStream
    """Stream that no other algorithm draws from."""

@final
class QueuedPacket:
    """A packet at a queue: times in seconds, sizes in bytes."""

    now_s: float
    size_bytes: int
    """Size with its network header."""
    flow: int
    """Number of its flow, which is another one in each direction."""
    ecn_capable: bool
    """Whether it can be marked (RFC 3168)."""
    waited_s: float
    queue_packets: int
    """Packets that wait, without it."""
    queue_bytes: int

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
    """The attribute `told` of its control."""

@final
class Congestion:
    """One sign of congestion."""

    now_s: float
    signal: Literal["loss", "restart", "timeout", "repeated-timeout"]
    flight_bytes: int

@final
class PathState:
    """A subflow as a packet scheduler sees it: times in seconds, sizes in bytes. It stands for its index."""

    index: int
    """Number of the subflow, in the order in which subflows were opened: a scheduler returns it."""
    cwnd_bytes: int
    ssthresh_bytes: float
    """The threshold of its slow start; infinite while there is none."""
    flight_bytes: int
    """Bytes believed to be in the network."""
    queued_bytes: int
    """Bytes that were assigned to it and have not left so far."""
    held_bytes: int
    """Bytes that were assigned to it and are not acknowledged, sent or not."""
    pacing_rate_bps: int | None
    """Rate at which it paces; None where it does not."""
    space_bytes: int
    """Bytes that the window leaves free: `cwnd_bytes` less the two; below zero after a cut."""
    mss: int
    """Payload of a full segment."""
    srtt_s: float | None
    """Smoothed round-trip time; None before the first measurement."""
    rttvar_s: float | None
    """Variation of the round-trip time (RFC 6298)."""
    rtt_s: float | None
    """The latest round-trip time."""
    min_rtt_s: float | None
    forward_s: float
    """Time to the receiver with the difference of both ends' clocks in it: of two paths it tells how much later a
    segment arrives by the one."""
    rto_s: float
    """The retransmission timeout."""
    acknowledged_bytes: int
    copied_bytes: int
    """Number of the first byte of the connection that it has not sent itself (`Copy`): it has sent all before."""
    retransmissions: int
    """Segments sent again, of all `segments` sent."""
    segments: int
    usable: bool
    """Whether what is at hand may be sent on it at all: it is established, repairs no timeout, has not sent the same
    before, and is no backup while others can be used."""
    has_room: bool
    """Whether a segment would leave at once: its windows and its pacing let it."""
    available: bool
    """Both `usable` and `has_room`."""
    slow_start: bool
    recovering: bool
    """Whether it is in a fast recovery."""
    backup: bool
    def __index__(self) -> int: ...

@final
class Situation:
    """The situation that a packet scheduler decides on: times in seconds, sizes in bytes."""

    now_s: float
    paths: tuple[PathState, ...]
    """The subflows, in the order in which they were opened; a subflow keeps its place when it is gone."""
    @property
    def available(self) -> tuple[PathState, ...]:
        """The paths by which a segment would leave at once."""
    waiting_bytes: int
    """Bytes to be sent for the first time; 0 where something is to be sent again, and only the path matters."""
    window_bytes: int
    """Bytes that the receiver's window leaves room for beyond all that was sent."""
    buffer_bytes: int
    """The receiver's window: what it holds at most."""
    outstanding_bytes: int
    """Sent and not acknowledged at the level of the connection."""
    sent_bytes: int
    """All bytes before this one were sent."""
    blocker: int | None
    """The path that has the oldest unacknowledged data, where the receiver's window keeps new data back."""

@final
class Send:
    """A decision: the next data goes by `path`, `skip_bytes` of what waits being left for others."""

    def __new__(cls, path: SupportsIndex, skip_bytes: int = 0) -> Send: ...

@final
class Copy:
    """A decision: `path` sends the oldest data that is not acknowledged and that it has not sent itself, new or not."""

    def __new__(cls, path: SupportsIndex) -> Copy: ...

@final
class Repeat:
    """A decision: `path` sends the oldest data that is not acknowledged again (once), which another has sent, and the
    window of `penalised` is halved (once in its round-trip time)."""

    def __new__(cls, path: SupportsIndex, penalised: SupportsIndex | None = None) -> Repeat: ...

def answer(request: bytes, on_tick: Callable[[float], None]) -> bytes:
    """Answer a request of the laboratory as the engine in its page does (`crates/web`).

    `on_tick` is called every 50 ms with the seconds that are simulated so far; what it raises ends the run.
    """

def slip_of(name: str, known: list[str]) -> str | None:
    """The name among `known` that another one probably is, with a single slip of the pen."""

def has_walls() -> bool:
    """Whether this machine can wall guests in, so that they read what is installed and write nothing (Landlock)."""

_Found: TypeAlias = tuple[type | None, str, list[tuple[str, Path, str]]]

def load(
    text: str,
    *,
    file: str = "",
    table: str = "",
    overrides: Sequence[tuple[str, object]] = (),
    seed: int | None = None,
    plugins: Sequence[tuple[str, str, type, str]] = (),
    kernels: Sequence[tuple[str, str, str, str, str, int]] = (),
    simulators: Sequence[tuple[str, str, str]] = (),
    inputs: Mapping[str, Path] = ...,
    own: Callable[[str, str, dict[str, Any]], _Found | None] | None = None,
) -> Scenario:
    """Read a scenario from the TOML `table` of `text` ("": the whole document) with `overrides` applied in order.

    `plugins` are algorithms of the user's own: what each stands for ("cc", "scheduler"), its name, its class, a digest
    of its code. `kernels` are those that guests can have: name, path, version, digest of the configuration, of the
    executable, timer frequency. `simulators` are others that are installed: the name of the stack, version, digest of
    the executable. `inputs` are files, by the names that a scenario calls them, for want of any beside it.

    `own` finds an algorithm by its key, the name of its file and class, and the parameters beside it: the class (None:
    it is not to be run), a digest of its code, and the files that hold it.

    Raises `ScenarioError`.
    """

def from_json(
    text: str,
    *,
    name: str = "scenario",
    file: str = "",
    plugins: Sequence[tuple[str, str, type, str]] = (),
    kernels: Sequence[tuple[str, str, str, str, str, int]] = (),
    simulators: Sequence[tuple[str, str, str]] = (),
    inputs: Mapping[str, Path] = ...,
    own: Callable[[str, str, dict[str, Any]], _Found | None] | None = None,
) -> Scenario:
    """Read a scenario's canonical form, `Scenario.json`, under a name; the other arguments are those of `load`.

    Raises `ScenarioError`, also if a trace, a kernel, a simulator or an algorithm is not here what it was there.
    """

def run(
    scenario: Scenario,
    *,
    pcap: str | None = None,
    snap: int | None = None,
    qlog: str | None = None,
    recording: int | None = None,
    on_tick: Callable[[float], None] | None = None,
) -> Outcome:
    """Run a scenario; `pcap` names a directory for one capture per host interface, `qlog` one for logs of QUIC.

    Captures keep the first `snap` bytes of each packet, or all.

    With `recording` the outcome has a recording of at most so many packets (docs/recording.md), and no samples.
    `on_tick` is called in the calling thread every 50 ms, with the seconds that are simulated so far.
    """

def run_many(
    scenarios: Sequence[Scenario],
    *,
    jobs: int,
    on_outcome: Callable[[int, Outcome], None],
    on_tick: Callable[[], None],
) -> None:
    """Run scenarios on `jobs` threads. Both functions are called in the calling thread, `on_tick` every 50 ms.

    `on_tick` is called once more after the last outcome.
    """

@final
class Outcome:
    """The outcome of a run: its tables, or why there are none."""

    @property
    def run_id(self) -> str: ...
    @property
    def failure(self) -> str | None:
        """Reason why the run failed, if it did; its tables are then empty."""
    @property
    def not_run(self) -> str | None:
        """Reason why it was not run at all, if what it needs is not there; its tables are then empty."""
    @property
    def recording(self) -> bytes | None:
        """The recording for viewers (docs/recording.md), if one was asked for."""
    def table(self, name: str) -> Table:
        """Rows of "runs", "flows", "paths", "links" or "samples"."""

class Table:
    """Rows that anything that reads Arrow streams takes: at once, or batch by batch as they come from disk."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

def merged(tables: Sequence[Any]) -> list[Any]:
    """Join neighbours with the same columns that nobody has read yet, 65 536 rows at most; others stay as they are."""

def packets(path: str) -> Any:
    """The packets of a pcapng file, one row each: anything that reads Arrow streams takes them.

    Raises `OSError` and `ScenarioError`.
    """

@final
class Capture:
    """A capture file of any tool, pcap or pcapng, read piece by piece: memory grows with its connections alone.

    Of `connections`, by their numbers, the first `most` packets are kept for a recording.
    """

    def __new__(cls, connections: Sequence[int] = (), most: int = 0) -> Capture: ...
    def feed(self, piece: bytes) -> None:
        """Read the packets of the next piece, which may end anywhere. Raises `ScenarioError`."""
    def finish(self) -> str | None:
        """The problem with the end of the file: it ends inside a packet, or held nothing. None if there is none."""
    def connections(self) -> Table:
        """Connections, one row each, in the order of their first packets."""
    def overview(self) -> dict[str, Any]:
        """Facts of the whole: packets, bytes, when it begins, and the packets that were not looked into."""
    def recording(self, name: str, notes: Sequence[str]) -> bytes:
        """Recording (docs/recording.md) of the connections it was made for; `notes` say what the capture lacks."""
    def joined(self, other: Capture, names: tuple[str, str], notes: Sequence[str]) -> bytes:
        """Recording of the connections that this and another capture of the same ones were made for."""
    def partners(self, other: Capture, numbers: Sequence[int]) -> list[int | None]:
        """Numbers of another capture's connections that are this one's of these numbers."""

def memory_left() -> int | None: ...
def registry() -> str:
    """Every algorithm a scenario can name, as JSON: kind -> entries with names, source and parameters."""

def schema() -> str:
    """The JSON Schema of scenarios in canonical form, `Scenario.json`."""

def tables() -> str:
    """The columns of each table of results and the measures that can be traced, as JSON: names and what they say."""
