"""Twin of a captured connection, and what is said of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any

from vazao import display
from vazao.errors import printable
from vazao.twins.document import document, queue_packets
from vazao.twins.ends import Ends
from vazao.twins.fitting import Fit
from vazao.twins.path import Path
from vazao.units import quantity

UNLIKE = "twin that does not explain"
"""Begin of the name of a twin from which nothing follows."""

ALIKE = 0.05
"""Distance that another control may add and still fits."""

IDLE = 0.05
"""Share of the time without data to send from which on the application counts."""


@dataclass(frozen=True)
class Twin:
    """A scenario estimated from a captured connection, and how well it explains it."""

    capture: File
    connection: Mapping[str, Any]
    """Row of the connection in `captures.read`."""
    path: Path
    ends: Ends
    control: str
    """Congestion control that fits best."""
    fit: Fit
    others: Mapping[str, Fit]
    """Fits of the other controls that were tried, each over the path that suits it best, the nearest first."""
    runs: int
    seen_s: float
    """Time that was looked at: from the connection's first packet to the last acknowledgement of new data."""

    @property
    def explains(self) -> bool:
        """Whether its run behaves as the connection did. If not, nothing follows from it."""
        return self.fit.explains

    @property
    def name(self) -> str:
        """Name of the scenario: what it is a twin of, and whether it is no good one."""
        of = f"connection {self.connection['connection']} of {printable(self.capture.name)}"
        return f"twin of {of}" if self.explains else f"{UNLIKE} {of}"

    @property
    def text(self) -> str:
        """The scenario in TOML, with what is known of it in comments."""
        said = [self.sentence, *self.known, *(f"Not known: {line}" for line in self.unknown)]
        return "".join(f"# {line}\n" for line in said) + "\n" + document(self.path, self.ends, self.control, self.name)

    @property
    def sentence(self) -> str:
        """Whether it explains the connection, and how near it comes."""
        ours, theirs = self.fit.retransmissions
        more = "more" if self.fit.completion >= 1 else "less"
        verdict = "explains" if self.explains else "does not explain"
        return (
            f"The twin {verdict} connection {self.connection['connection']}: it takes "
            f"{_percent(abs(self.fit.completion - 1))} {more} time, has {ours} retransmissions where there were "
            f"{theirs}, and its goodput is {_percent(self.fit.by_second)} off from second to second."
        )

    @property
    def known(self) -> list[str]:
        """Sentences on what was concluded, and from what."""
        path, window = self.path, self.ends.window
        alike = [name for name, fit in self.others.items() if fit.distance <= self.fit.distance + ALIKE]
        source = "for long, data came no faster" if path.is_filled else "that of the fastest bursts"
        said = {
            f"Rate {quantity(path.rate_bps, 'bit/s')}: {source}.": True,
            f"Round trip {quantity(2 * path.delay_s, 's')}: the least that was seen, half of it each way.": True,
            f"Queue {self._queued}: so many waited when packets were lost.": path.overflows,
            f"{len(path.lost)} losses that no full queue explains.": bool(path.lost),
            f"Jitter {quantity(path.jitter_s, 's')}: round trips that follow each other differ so.": path.jitter_s > 0,
            f"Receive window {quantity(window or 0, 'B')}: it held the sender up.": window is not None,
            f"Congestion control {self.control}.": not alike,
            f"Congestion control {self.control}; {_listed(alike)} would fit as well.": bool(alike),
        }
        return [sentence for sentence, is_so in said.items() if is_so]

    @property
    def unknown(self) -> list[str]:
        """Sentences on what the capture cannot tell, and what the twin has instead."""
        path, idle, is_afar = self.path, self.ends.idle, self.ends.is_afar
        room = queue_packets(path, self.ends)
        said = {
            "whether the path is faster: nothing stood in the queue for long.": not path.is_filled,
            f"how long the queue may be: at most {self._queued} waited in it; the twin's holds {room}.": (
                not path.overflows and not is_afar
            ),
            f"how long the queue is: the receiver does not see what waits in it; the twin's holds {room}.": is_afar,
            f"what the application did: for {_percent(idle)} of the time there was nothing to send, where the twin "
            "always has data.": idle > IDLE,
            "the buffers of both ends: they did not hold the sender up.": self.ends.window is None,
            f"what came after {quantity(self.seen_s, 's')}: so many packets are not looked at.": self._is_cut,
            "other traffic: what it took of the path is missing from the rate, and its losses are the path's.": True,
        }
        return [sentence for sentence, is_so in said.items() if is_so]

    @property
    def comparison(self) -> list[list[str]]:
        """Lines of a table: headings, then the connection and its twin."""
        spans = {"connection": self.seen_s, "twin": self.seen_s * self.fit.completion}
        rows = zip(spans.items(), reversed(self.fit.retransmissions), strict=True)
        return [
            ["", "duration", "goodput", "retransmissions"],
            *(
                [name, quantity(span, "s"), quantity(self.ends.size * 8 / span, "bit/s"), str(again)]
                for (name, span), again in rows
            ),
        ]

    @property
    def _is_cut(self) -> bool:
        return bool(self.ends.size < self.connection["app_bytes"])

    @property
    def _queued(self) -> str:
        count = round(self.path.queue_bytes / self.ends.packet)
        return f"{count} packet{'s' * (count != 1)}"

    def _repr_html_(self) -> str:
        facts = [("", line) for line in (self.sentence, *self.known, *(f"Not known: {line}" for line in self.unknown))]
        return display.card("twin", self.capture.name, facts, [("beside the connection", self.comparison)])


def as_json(twin: Twin) -> dict[str, Any]:
    """The twin as JSON has it."""
    path = twin.path
    return {
        "capture": str(twin.capture),
        "connection": twin.connection["connection"],
        "explains": twin.explains,
        "sentence": twin.sentence,
        "control": twin.control,
        "rate_bps": path.rate_bps,
        "is_filled": path.is_filled,
        "delay_s": path.delay_s,
        "jitter_s": path.jitter_s,
        "queue_bytes": path.queue_bytes,
        "overflows": path.overflows,
        "losses": len(path.lost),
        "receive_window_bytes": twin.ends.window,
        "fit": _fit(twin.fit),
        "others": {name: _fit(fit) for name, fit in twin.others.items()},
        "known": twin.known,
        "unknown": twin.unknown,
        "runs": twin.runs,
        "scenario": twin.text,
    }


def _fit(fit: Fit) -> dict[str, Any]:
    return {
        "explains": fit.explains,
        "distance": fit.distance,
        "completion_ratio": fit.completion,
        "curve": fit.curve,
        "flight": fit.flight,
        "by_second": fit.by_second,
        "retransmissions": fit.retransmissions[0],
        "retransmissions_captured": fit.retransmissions[1],
    }


def _percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 else 1}f} %"


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
