"""Scenarios of the benchmarks: one path, two paths and dumbbells, of any number of flows."""

from __future__ import annotations

from rivals import gbps

FLOW_MEASURES = ["cwnd", "ssthresh", "srtt", "rtt", "flight", "sequence"]
CUBIC = '{ kind = "tcp", cc = "cubic", mss = 1448 }'
ACCESS = '{ rate = "10 Gbps", delay = "100 us" }'


def bottleneck(rate: str, queue: str = '"1 bdp"') -> str:
    """Bottleneck link: with the access links it makes a base round-trip time of 10 ms."""
    return f'{{ rate = "{rate}", delay = "4800 us", queue = {queue} }}'


def path(
    cc: str = "cubic",
    app: str = '{ kind = "upload" }',
    until: str = "20 s",
    flows: int = 1,
    queue: str = '"1 bdp"',
    transport: str = "tcp",
) -> str:
    """Flows from one host to another: host - R1 - R2 - host."""
    return f"""
until = "{until}"
network = {{ topology = "path", link = [{ACCESS}, {bottleneck("1 Gbps", queue)}, {ACCESS}] }}
[[flow]]
count = {flows}
start_spread = "{"100 ms" if flows > 1 else "0 s"}"
app = {app}
transport = {{ kind = "{transport}", cc = "{cc}" }}
"""


def two_paths() -> str:
    """Multipath TCP connection over two paths like the path of one flow, each at half of its rate."""
    links = [
        {"name": f"{name}{number}", "from": ends[0], "to": ends[1], **table}
        for number in (1, 2)
        for name, ends, table in (
            ("left", ("a", f"l{number}"), {"rate": "10 Gbps", "delay": "100 us"}),
            ("bottleneck", (f"l{number}", f"r{number}"), {"rate": "500 Mbps", "delay": "4800 us", "queue": "1 bdp"}),
            ("right", (f"r{number}", "b"), {"rate": "10 Gbps", "delay": "100 us"}),
        )
    ]
    tables = "\n".join("{" + ", ".join(f'{key} = "{value}"' for key, value in link.items()) + "}," for link in links)
    return f"""
until = "20 s"
[network]
topology = "custom"
hosts = ["a", "b"]
routers = ["l1", "l2", "r1", "r2"]
link = [
{tables}
]
[[flow]]
client = "a"
server = "b"
app = {{ kind = "upload" }}
transport = {{ kind = "mptcp", cc = "lia" }}
"""


def dumbbell(flows: int, until: str, spread: str = "0 s", transport: str = CUBIC) -> str:
    """Flows between pairs of hosts, each pair behind its own access links."""
    rate = f"{gbps(flows)} Gbps"
    return f"""
until = "{until}"
network = {{ topology = "dumbbell", pairs = {flows}, access = {ACCESS}, bottleneck = {bottleneck(rate)} }}
[[flow]]
count = {flows}
start_spread = "{spread}"
app = {{ kind = "upload" }}
transport = {transport}
"""


def smallest() -> str:
    """A kilobyte over one link, which takes less to simulate than to read and to store."""
    return """
network = { topology = "point-to-point", link = { rate = "1 Gbps", delay = "1 ms" } }
[[flow]]
app = { kind = "upload", size = "1 kB" }
"""


def idle(flows: int) -> str:
    """Flows that are connected but idle: a kilobyte has been sent, and its reader takes a byte every 10 ms."""
    return path(app='{ kind = "upload", size = "1 kB", read_rate = "1 bps" }', until="5 s", flows=flows)


SHORT = {
    "1 flow": path(until="2 s"),
    "1 flow, loss": path(cc="reno", until="2 s", queue='"50 packets"'),
    "100 flows": dumbbell(100, "1 s"),
    "1 000 flows": dumbbell(1000, "500 ms"),
    "bbr": path(cc="bbr", until="1 s"),
    "fq-codel": path(queue='"fq-codel"', until="1 s"),
    "quic": path(transport="quic", until="1 s"),
    "sctp": path(transport="sctp", cc="reno", until="1 s"),
    "mptcp": path(transport="mptcp", until="1 s"),
}
"""Short runs of each kind, by name."""
