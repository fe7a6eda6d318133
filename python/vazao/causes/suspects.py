"""Suspects: what may keep a flow slow, and how each is taken away. One entry each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vazao.causes.document import PACKET, Document, narrowest, number, round_trip

AMPLE = "500 MB"
"""Window or buffer that limits nobody."""


@dataclass(frozen=True)
class Suspect:
    """Something that may limit a flow."""

    name: str
    title: Callable[[Document, dict[str, Any]], str]
    """Words for it in a scenario, as they stand within a sentence: `the receive window of 3 MB`."""
    remove: Callable[[Document, dict[str, Any]], bool]
    """Takes it away in a copy of the document; returns whether there was anything to take away."""
    who: str
    """Party that could change it: sender, receiver, network, or nobody."""
    remedy: str
    """Change that it takes."""
    evidence: tuple[str, ...] = ()
    """Limits that it shows as; without any of them it is asked about all the same, but last."""


def _set(table: dict[str, Any], values: Mapping[str, Any]) -> bool:
    """Set those keys that the table has to other values; returns whether any differs."""
    changes = {key: value for key, value in values.items() if key in table and table[key] != value}
    table.update(changes)
    return bool(changes)


def _transport(values: Mapping[str, Any]) -> Callable[[Document, dict[str, Any]], bool]:
    """Removal that sets keys of the flow's transport."""
    return lambda asked, copy: _set(asked.transport(copy), values)


def _on_way(change: Callable[[dict[str, Any]], bool], *, back: bool = False) -> Callable[..., bool]:
    """Removal that changes each direction of a link on the data's way, or on the way back."""

    def remove(asked: Document, copy: dict[str, Any]) -> bool:
        changed = [change(pair[back]) for pair in asked.way(copy)]  # each of them
        return any(changed)

    return remove


def _without(*keys: str) -> Callable[[dict[str, Any]], bool]:
    """Change of a direction: it has none of these keys any more."""

    def remove(direction: dict[str, Any]) -> bool:
        removed = [direction.pop(key, None) is not None for key in keys]
        return any(removed)

    return remove


def _words(text: str) -> Callable[[Document, dict[str, Any]], str]:
    return lambda *_: text


def _with_value(text: str, *keys: str) -> Callable[[Document, dict[str, Any]], str]:
    """Title with the first of the keys that the transport has a size for."""

    def title(asked: Document, document: dict[str, Any]) -> str:
        transport = asked.transport(document)
        sizes = [transport[key] for key in keys if number(transport.get(key), "bytes") is not None]
        return f"{text} of {sizes[0]}" if sizes else text

    return title


def _single_losses(direction: dict[str, Any]) -> bool:
    loss = direction.get("loss")
    return isinstance(loss, dict) and _set(loss, {"unit": "packet"})


def _in_order(direction: dict[str, Any]) -> bool:
    """Keep the jitter, and have packets arrive in the order of sending."""
    jitter = direction.get("jitter")
    keeps = isinstance(jitter, dict) and _set(jitter, {"keeps_order": True})
    return _without("reorder")(direction) or keeps


def _longer_queue(direction: dict[str, Any]) -> bool:
    return isinstance(direction.get("queue"), str) and _set(direction, {"queue": "100000 packets"})


def _plain_queue(direction: dict[str, Any]) -> bool:
    if isinstance(direction.get("queue"), dict):
        direction["queue"] = "1 bdp"
        return True
    return False


def _free_return(direction: dict[str, Any]) -> bool:
    changes = [_without("loss", "jitter", "reorder", "duplicate", "corrupt", "outages", "policer", "shaper")(direction)]
    if number(direction["rate"], "bps") is not None:
        changes.append(_set(direction, {"rate": "100 Gbps", "queue": "100000 packets"}))
    return any(changes)


def _alone(asked: Document, copy: dict[str, Any]) -> bool:
    others = len(copy["flow"]) > 1
    copy["flow"] = [asked.flow(copy)]
    return others


def _bdp_window(asked: Document, copy: dict[str, Any]) -> bool:
    """Begin with a window of the bandwidth-delay product, so that slow start has nothing to find."""
    transport = asked.transport(copy)
    way = asked.way(copy)
    rate = narrowest(way)
    if rate is None or "initial_window" not in transport:
        return False
    packets = max(10, round(rate * round_trip(way) / 8 / PACKET))
    window = transport["initial_window"]
    wanted: object = packets if isinstance(window, (int, float)) else f"{packets * PACKET} B"
    return _set(transport, {"initial_window": wanted})


def _other_control(asked: Document, copy: dict[str, Any]) -> bool:
    transport = asked.transport(copy)
    control = transport.get("cc")
    if not isinstance(control, dict) or control.get("kind") == "bbr":
        return False
    transport["cc"] = "bbr"
    return True


def _control(asked: Document, document: dict[str, Any]) -> str:
    control = asked.transport(document).get("cc")
    name = control.get("kind", "none") if isinstance(control, dict) else "none"
    return f"congestion control ({name}; BBR in its place)"


SUSPECTS: Sequence[Suspect] = (
    Suspect(
        "receive window",
        _with_value("the receive window", "receive_buffer", "stream_window", "connection_window"),
        _transport(dict.fromkeys(("receive_buffer", "stream_window", "connection_window"), AMPLE)),
        "receiver",
        "a larger receive buffer, or one that grows",
        ("receive_window", "connection_window"),
    ),
    Suspect(
        "send buffer",
        _with_value("the send buffer", "send_buffer"),
        _transport({"send_buffer": AMPLE}),
        "sender",
        "a larger send buffer",
        ("send_buffer", "application"),
    ),
    Suspect(
        "slow start",
        _words("the initial window and slow start"),
        _bdp_window,
        "sender",
        "a larger initial window, connections that are kept open",
        ("slow_start",),
    ),
    Suspect(
        "random loss",
        _words("random loss on the way"),
        _on_way(_without("loss", "corrupt")),
        "network",
        "a repaired link, or a congestion control that takes loss for no congestion",
        ("avoidance", "recovery", "timeout"),
    ),
    Suspect(
        "losses by train",
        _words("losses that take whole trains"),
        _on_way(_single_losses),
        "network",
        "an emulator that loses packets, not trains",
        ("avoidance", "recovery", "timeout"),
    ),
    Suspect(
        "reordering",
        _words("reordering (the same jitter, in order)"),
        _on_way(_in_order),
        "network",
        "a path or an emulator that keeps the order",
        ("avoidance", "recovery"),
    ),
    Suspect(
        "short queue",
        _words("a queue that is too short"),
        _on_way(_longer_queue),
        "network",
        "a longer queue, or a sender that paces",
        ("avoidance", "recovery", "timeout"),
    ),
    Suspect(
        "active queue",
        _words("the discipline of the queue (drop-tail of a bandwidth-delay product in its place)"),
        _on_way(_plain_queue),
        "network",
        "another queue discipline or target",
        ("avoidance", "recovery"),
    ),
    Suspect(
        "other flows",
        _words("other flows on the way"),
        _alone,
        "nobody",
        "less traffic of others, or fair queues",
        ("avoidance", "recovery", "pacing"),
    ),
    Suspect(
        "acknowledgements",
        _words("delayed acknowledgements"),
        _transport({"delayed_ack": 1, "ack_every": 1, "delayed_sack": 1, "max_ack_delay": "1 ms"}),
        "receiver",
        "quicker acknowledgements",
        ("slow_start", "avoidance"),
    ),
    Suspect(
        "return path",
        _words("the return path"),
        _on_way(_free_return, back=True),
        "network",
        "more room for acknowledgements",
        ("slow_start", "avoidance", "recovery", "timeout"),
    ),
    Suspect(
        "timers",
        _words("the least retransmission timeout"),
        _transport({"min_rto": "10 ms", "initial_rto": "200 ms"}),
        "sender",
        "a shorter timer, or loss detection that needs none",
        ("timeout", "handshake"),
    ),
    Suspect(
        "Nagle's algorithm",
        _words("Nagle's algorithm"),
        _transport({"nagle": False}),
        "sender",
        "TCP_NODELAY",
        ("nagle",),
    ),
    Suspect(
        "scheduler",
        _words("the packet scheduler (ECF in its place)"),
        _transport({"scheduler": "ecf"}),
        "sender",
        "another packet scheduler",
        ("scheduler", "connection_window"),
    ),
    Suspect(
        "congestion control",
        _control,
        _other_control,
        "sender",
        "another congestion control",
        ("avoidance", "recovery", "slow_start", "timeout"),
    ),
)
"""All suspects; of equal effects the earlier one is named first."""
