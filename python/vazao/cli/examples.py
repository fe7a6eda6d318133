"""Examples of each command, shown at the end of its help."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "run": (
        "vazao run two.toml --set flow.0.transport.cc=bbr --trace cwnd --out results/bbr",
        "vazao run two.toml --vary flow.0.transport.cc=cubic,bbr --seeds 10",
        "vazao run tcp-bakeoff --quick --fail-on differs --junit claims.xml",
        "vazao run nsquic-2018 --measurements testbed.csv",
        "vazao run results/bbr/1f0c3d --pcap captures",
    ),
    "compare": ("vazao compare two.toml --seeds 10",),
    "why": ("vazao why two.toml --flow 1", "vazao why slow.toml --seeds 20 --runs 200 --html why.html"),
    "read": ("vazao read trace.pcap.gz", "vazao read client.pcapng server.pcapng --json"),
    "twin": ("vazao twin trace.pcap.gz --out twin.toml", "vazao twin client.pcapng --flow 3 --html twin.html"),
    "view": (
        "vazao view two.toml --beside flow.0.transport.cc=bbr",
        "vazao view results/tcp-bakeoff/1f0c3d --html run.html",
        "vazao view trace.pcap.gz --flow 3",
        "vazao view sender.pcap receiver.pcap",
    ),
    "play": ("vazao play two.toml", "vazao play --lesson slow-start --html lesson.html"),
    "report": ("vazao report results/tcp-bakeoff", "vazao report results/tcp-bakeoff --serve"),
    "show": ("vazao show results/tcp-bakeoff", "vazao show results/tcp-bakeoff --json"),
    "sql": (
        "vazao sql results/tcp-bakeoff 'SELECT transport, avg(goodput_bps) FROM flows GROUP BY transport'",
        "vazao sql results/tcp-bakeoff 'SELECT * FROM links' --out links.csv",
    ),
    "explore": ("vazao explore results/before results/after",),
    "merge": ("vazao merge part-1 part-2 part-3 --out results/whole",),
    "gc": ("vazao gc results/tcp-bakeoff",),
    "verify": (
        "vazao verify results/tcp-bakeoff --jobs 4 --junit again.xml",
        "vazao verify results/tcp-bakeoff 1f0c3d",
    ),
    "check": ("vazao check two.toml --set network.bottleneck.loss=0.01",),
    "list": ("vazao list", "vazao list congestion-controls"),
    "explain": ("vazao explain cubic", "vazao explain network.bottleneck.queue", "vazao explain goodput_bps"),
    "new": ("vazao new mine", "vazao new mine --study", "vazao new my-bakeoff --from tcp-bakeoff"),
    "doctor": ("vazao doctor",),
    "completion": ("vazao completion bash >> ~/.bashrc",),
    "kernel build": ("vazao kernel build",),
    "kernel list": ("vazao kernel list --json",),
    "kernel use": ("vazao kernel use 6.12",),
}
"""Examples by command name."""


def epilog(command: str) -> str:
    """Epilog of a command's help: its examples."""
    lines = EXAMPLES[command]
    # Without blank lines in between, the help would join them into one paragraph.
    return "\n\n".join(["Example:" if len(lines) == 1 else "Examples:", *lines])
