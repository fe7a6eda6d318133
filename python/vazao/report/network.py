"""Drawing of a scenario's network: hosts, routers, and links with their rate, delay, queue and loss.

The engine says where nodes are, in columns and rows (`Scenario.graph`). Links that join the same two nodes are bent
apart, and of many hosts in a column a few stand for all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from vazao.units import Unit
from vazao.words import ENGLISH, Words

Graph = Mapping[str, Any]

COLUMN = 228  # between columns, in points
ROW = 66  # between nodes of one column
APART = 92  # between links that join the same two nodes
MARGIN = 26
HOST = (86, 34)
ROUTER = 21  # radius
STEP = 118  # between the rows of an upright drawing
SIDE = 96  # between nodes in one of its rows
LETTER = 6.1  # approximate width of a letter in a label
MOST = 5  # maximum number of hosts drawn on one side; beyond it the rest become a count

RATE, DELAY = Unit("bit/s"), Unit("s")


PROPERTIES = ("rate_bps", "delay_s", "queue", "loss")
"""Drawn properties of one direction of a link."""


@dataclass
class Node:
    """A host or router with its position; `hidden` counts the hosts that it stands for."""

    name: str
    host: bool
    x: float = 0.0
    y: float = 0.0
    hidden: int = 0


@dataclass
class Link:
    """A link with every value that its properties take across the merged scenarios."""

    name: str
    source: str
    target: str
    forward: dict[str, list[Any]]
    reverse: dict[str, list[Any]] = field(default_factory=dict)
    bend: float = 0.0

    @property
    def slowest(self) -> float:
        """The lowest rate in either direction, bit/s."""
        rates = [rate for rate in self.forward["rate_bps"] + self.reverse["rate_bps"] if rate is not None]
        return min(rates, default=float("inf"))


def _percentage(p: str, **others: str) -> str:
    if not float(p):
        return ""
    return Unit("%").text(float(p), 3) + (f" ({_settings(others)})" if others else "")


def _settings(parameters: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {setting}" for name, setting in parameters.items())


PLAIN: dict[str, Callable[..., str]] = {"drop-tail": lambda limit: limit, "bernoulli": _percentage}
"""Queues and loss models that labels need not name, each with the function that formats its parameters."""


EACH_PACKET = ("unit", "packet")
"""The usual setting of a loss model, which labels omit."""


def _shown(value: Any) -> Any:
    """A property as labels need it: numbers unchanged, queues and loss models as text."""
    if not isinstance(value, Mapping):
        return value
    kind = value["kind"]
    parameters = {name: setting for name, setting in value["parameters"].items() if (name, setting) != EACH_PACKET}
    return PLAIN[kind](**parameters) if kind in PLAIN else f"{kind} ({_settings(parameters)})"


Shape = frozenset[tuple[str, ...]]


def shape(graph: Graph) -> Shape:
    """The nodes and links of a graph, ignoring the links' properties.

    A graph whose shape is part of another's, like a dumbbell of two pairs and one of ten, can share its drawing.
    """
    nodes = {(node["name"], node["kind"]) for node in graph["nodes"]}
    return frozenset(nodes | {(link["name"], link["source"], link["target"]) for link in graph["links"]})


def merge(graphs: Sequence[Graph], words: Words = ENGLISH) -> Graph:
    """Merge graphs into the largest one, whose shape contains the others'.

    Properties become lists of their values, and `texts` holds them formatted for labels.
    """
    largest = max(graphs, key=lambda graph: len(graph["nodes"]))
    named = [{link["name"]: link for link in graph["links"]} for graph in graphs]

    def values(name: str, reverse: bool) -> dict[str, list[Any]]:
        links = [links[name] for links in named if name in links]
        sides = [link["reverse"] if reverse and link.get("reverse") else link for link in links]
        merged = {key: list(dict.fromkeys(_shown(side.get(key)) for side in sides)) for key in PROPERTIES}
        return merged | {"texts": _written(merged, words)}

    links = [
        {"name": link["name"], "source": link["source"], "target": link["target"]}
        | {"forward": values(link["name"], False), "reverse": values(link["name"], True)}
        for link in largest["links"]
    ]
    return {**largest, "links": links}


def draw(graphs: Sequence[Graph], title: str, words: Words = ENGLISH, *, upright: bool = False) -> str:
    """The network as an SVG element, from left to right or, `upright`, from top to bottom for narrow screens.

    Several graphs stand for one network with varying links, drawn with the ranges of their properties.
    """
    graph = merge(graphs, words)
    nodes, links = place(graph)
    slowest = min((link.slowest for link in links), default=0.0)
    varied = any(link.slowest > slowest for link in links)
    narrow = [link for link in links if varied and link.slowest == slowest]
    with_label = labelled(links, nodes)
    if upright:
        stand(nodes, links)
    else:
        widen(nodes, with_label)
    parts = [_link(link, nodes, link in narrow, upright) for link in links]
    label = _label_upright if upright else _label
    parts += [label(link, nodes, link in narrow) for link in with_label]
    parts += [_node(node, words) for node in nodes.values()]
    left, top, right, bottom = (_frame_upright if upright else _frame)(nodes, links, with_label)
    width, height = right - left, bottom - top
    kind, most = ("network upright", width * 1.1) if upright else ("network", width * 1.15)
    return (
        f'<svg class="{kind}" role="img" aria-label="{escape(describe(graph, title, words))}" '
        f'viewBox="{left:.0f} {top:.0f} {width:.0f} {height:.0f}" style="max-width:{most:.0f}px" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(parts)}</svg>'
    )


Frame = tuple[float, float, float, float]


def _frame(nodes: Mapping[str, Node], links: Sequence[Link], _: Sequence[Link]) -> Frame:
    """Bounds of a left-to-right drawing: left, top, right and bottom."""
    across = [node.x for node in nodes.values()]
    down = [node.y for node in nodes.values()] + [link.bend for link in links]
    side = MARGIN + HOST[0] / 2
    return min(across) - side, min(down) - MARGIN - 10, max(across) + side, max(down) + MARGIN + 28


def _frame_upright(nodes: Mapping[str, Node], links: Sequence[Link], with_label: Sequence[Link]) -> Frame:
    """Bounds of an upright drawing, whose labels extend beyond its nodes: left, top, right and bottom."""
    across = [node.x for node in nodes.values()] + [link.bend for link in links]
    down = [node.y for node in nodes.values()]
    left, right = min(across) - HOST[0] / 2, max(across) + HOST[0] / 2
    for link in with_label:
        x, _, anchor = _beside(link, nodes)
        length = LETTER * max(map(len, _lines_upright(link)))
        left, right = min(left, x - length * (anchor == "end")), max(right, x + length * (anchor == "start"))
    return left - 8, min(down) - MARGIN, right + 8, max(down) + MARGIN


def describe(graph: Graph, title: str, words: Words = ENGLISH) -> str:
    """Text description of the drawing for screen readers."""
    hosts = sum(node["kind"] == "host" for node in graph["nodes"])
    routers = len(graph["nodes"]) - hosts
    links = "; ".join(
        words.say("network.link", **{**link, "texts": ", ".join(texts(link["forward"]))})
        for link in graph["links"][:12]
    )
    return f"{title}: {words.many('network.hosts', hosts)}, {words.many('network.routers', routers)}. {links}"


# Layout


def place(graph: Graph) -> tuple[dict[str, Node], list[Link]]:
    """Positioned nodes, and the links between those that are drawn."""
    nodes = {node["name"]: Node(node["name"], node["kind"] == "host") for node in graph["nodes"]}
    links = [Link(x["name"], x["source"], x["target"], x["forward"], x["reverse"]) for x in graph["links"]]
    pairs = [frozenset((link.source, link.target)) for link in links]
    wide = COLUMN * (1 if len(set(pairs)) == len(pairs) else 1.6)
    for at in graph["nodes"]:
        nodes[at["name"]].x, nodes[at["name"]].y = at["x"] * wide, at["y"] * ROW
    columns: dict[float, list[Node]] = {}
    for node in nodes.values():
        columns.setdefault(node.x, []).append(node)
    gone = {node.name for column in columns.values() for node in _abbreviate(column)}
    shown = [link for link in links if not {link.source, link.target} & gone]
    _bend(shown)
    return {name: node for name, node in nodes.items() if name not in gone or node.hidden}, shown


def _abbreviate(column: Sequence[Node]) -> list[Node]:
    """Keep a few hosts of a column that has more than `MOST`; return the others, of which the first stands for all."""
    hosts = [node for node in column if node.host]
    if len(hosts) <= MOST:
        return []
    rest = hosts[2:-1]
    rest[0].hidden = len(rest)
    kept = sorted((node for node in column if node not in rest[1:]), key=lambda node: node.y)
    for i, node in enumerate(kept):
        node.y = (i - (len(kept) - 1) / 2) * ROW
    return rest


def _bend(links: Iterable[Link]) -> None:
    """Bend apart the links that join the same two nodes."""
    pairs: dict[frozenset[str], list[Link]] = {}
    for link in links:
        pairs.setdefault(frozenset((link.source, link.target)), []).append(link)
    for group in pairs.values():
        for i, link in enumerate(group):
            link.bend = (i - (len(group) - 1) / 2) * APART


def stand(nodes: Mapping[str, Node], links: Iterable[Link]) -> None:
    """Turn a placed drawing so that its spine runs from top to bottom."""
    for node in nodes.values():
        node.x, node.y = node.y * SIDE / ROW, node.x * STEP / COLUMN
    for link in links:
        link.bend *= 1.5  # labels go between the links, not above them


def widen(nodes: Mapping[str, Node], told: Iterable[Link]) -> None:
    """Widen the columns of a left-to-right drawing until labels above horizontal links fit between their nodes."""
    factor = 1.0
    for link in told:
        a, b = nodes[link.source], nodes[link.target]
        if a.y == b.y and not link.bend:
            ends = sum(HOST[0] / 2 if node.host else ROUTER for node in (a, b))
            letters = max(
                len(" · ".join(texts(side)[:2])) + 2 * (link.forward != link.reverse)
                for side in (link.forward, link.reverse)
            )
            factor = max(factor, (ends + LETTER * letters + 16) / abs(b.x - a.x))
    for node in nodes.values():
        node.x *= factor


# Texts


def texts(side: Mapping[str, Sequence[Any]]) -> list[str]:
    """Formatted properties of one direction: rate, delay, queue, loss."""
    return list(side["texts"])


def _written(side: Mapping[str, Sequence[Any]], words: Words) -> list[str]:
    spans = [words.quantity(_span(side[key], unit)) for key, unit in (("rate_bps", RATE), ("delay_s", DELAY))]
    kinds = [_choices(side[key], words.say(f"network.{key}"), words) for key in ("queue", "loss")]
    return [text for text in (*spans, *kinds) if text]


def _span(values: Sequence[float | None], unit: Unit) -> str:
    numbers = sorted(value for value in values if value is not None)
    if not numbers:
        return ""
    low, high = unit.text(numbers[0], 3), unit.text(numbers[-1], 3)
    return low if low == high else f"{low} – {high}"


def _choices(values: Sequence[str | None], prefix: str, words: Words) -> str:
    known = [value for value in values if value]
    if not known:
        return ""
    if len(known) > 2:
        return f"{prefix} {words.say('network.kinds', n=len(known))}"
    between = f" {words.say('network.or')} "
    return f"{prefix} {between.join(map(words.quantity, known))}"


def labelled(links: Sequence[Link], nodes: Mapping[str, Node]) -> list[Link]:
    """Links that carry a label; of several identical ones on one side of the drawing, only the first."""
    seen: set[tuple[float | str, tuple[str, ...]]] = set()
    chosen = []
    for link in sorted(links, key=lambda x: nodes[x.source].y + nodes[x.target].y + x.bend):
        a, b = nodes[link.source], nodes[link.target]
        side = "below" if abs(a.x - b.x) < COLUMN / 2 else (a.x + b.x) // 2
        key = (side, (*texts(link.forward), *texts(link.reverse)))
        if not (a.host != b.host and key in seen):
            chosen.append(link)
        seen.add(key)
    return chosen


# Drawing


def _line(a: Node, b: Node, bend: float, upright: bool) -> str:
    if not bend:
        return f"M{a.x:.1f},{a.y:.1f}L{b.x:.1f},{b.y:.1f}"
    if upright:
        third, aside = (b.y - a.y) / 4, (a.x + b.x) / 2 + bend * 4 / 3
        return f"M{a.x:.1f},{a.y:.1f}C{aside:.1f},{a.y + third:.1f} {aside:.1f},{b.y - third:.1f} {b.x:.1f},{b.y:.1f}"
    third, height = (b.x - a.x) / 4, (a.y + b.y) / 2 + bend * 4 / 3
    return f"M{a.x:.1f},{a.y:.1f}C{a.x + third:.1f},{height:.1f} {b.x - third:.1f},{height:.1f} {b.x:.1f},{b.y:.1f}"


def _link(link: Link, nodes: Mapping[str, Node], bottleneck: bool, upright: bool) -> str:
    a, b = nodes[link.source], nodes[link.target]
    kind = "link bottleneck" if bottleneck else "link"
    drawn = f'<path class="{kind}" d="{_line(a, b, link.bend, upright)}"/>'
    straight = a.x == b.x if upright else a.y == b.y
    if not bottleneck or link.bend or a.host or not straight:
        return drawn
    offsets = [ROUTER + 9 + 5 * i for i in range(4)]
    if upright:
        step = 1 if b.y > a.y else -1
        return drawn + "".join(f'<path class="queue" d="M{a.x - 6:.1f},{a.y + step * at:.1f}h12"/>' for at in offsets)
    step = 1 if b.x > a.x else -1
    return drawn + "".join(f'<path class="queue" d="M{a.x + step * at:.1f},{a.y - 6:.1f}v12"/>' for at in offsets)


def _label(link: Link, nodes: Mapping[str, Node], bottleneck: bool) -> str:
    a, b = nodes[link.source], nodes[link.target]
    x, y = (a.x + b.x) / 2, (a.y + b.y) / 2 + link.bend
    forward, reverse = texts(link.forward), texts(link.reverse)
    hanging = abs(a.x - b.x) < COLUMN / 2
    if hanging:
        return _text(x + 8, y + 3, [" · ".join(forward[:2])], "start")
    edge = (a.host or b.host) and not bottleneck  # an access link shows rate and delay; its queue matters little
    if forward == reverse:
        if edge and not link.bend and len(nodes) > 2:
            return _text(x, y - 18 if a.y == b.y else y - 14, [" · ".join(forward[:2])], "middle")
        return _text(x, y - 10, [" · ".join(forward[:2])], "middle") + _text(x, y + 20, forward[2:], "middle")
    return _text(x, y - 22, [f"→ {' · '.join(forward[:2])}", " · ".join(forward[2:])], "middle") + _text(
        x, y + 20, [f"← {' · '.join(reverse[:2])}", " · ".join(reverse[2:])], "middle"
    )


def _label_upright(link: Link, nodes: Mapping[str, Node], bottleneck: bool) -> str:
    """A label beside its link, with one property per line."""
    access = nodes[link.source].host or nodes[link.target].host
    lines = _lines_upright(link, full=bottleneck or not access or len(nodes) == 2)
    x, y, anchor = _beside(link, nodes)
    return _text(x, y + 4 - 7 * (len(lines) - 1), lines, anchor)


def _beside(link: Link, nodes: Mapping[str, Node]) -> tuple[float, float, str]:
    """Position of an upright link's label: left of its middle, or right where the link runs around to the right."""
    a, b = nodes[link.source], nodes[link.target]
    x, y = (a.x + b.x) / 2 + link.bend, (a.y + b.y) / 2
    around = x > ROUTER and abs(a.y - b.y) > STEP / 2 and not link.bend
    return (x + 11, y, "start") if around else (x - 11, y, "end")


def _lines_upright(link: Link, full: bool = True) -> list[str]:
    forward, reverse = (texts(side) if full else texts(side)[:2] for side in (link.forward, link.reverse))
    if forward == reverse:
        return forward
    return ["↓ " + " · ".join(forward[:2]), *forward[2:], "↑ " + " · ".join(reverse[:2]), *reverse[2:]]


def _text(x: float, y: float, lines: Sequence[str], anchor: str) -> str:
    rows = "".join(
        f'<tspan x="{x:.1f}" dy="{0 if i == 0 else 14}">{escape(line)}</tspan>' for i, line in enumerate(lines) if line
    )
    return f'<text class="label" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{rows}</text>'


def _node(node: Node, words: Words) -> str:
    centre = f'x="{node.x:.1f}" y="{node.y + 4:.1f}" text-anchor="middle"'
    if node.hidden:
        more = words.say("network.more", n=node.hidden)
        return f'<text class="more" {centre}>⋮ {more}</text>'
    if node.host:
        width, height = HOST
        box = f'x="{node.x - width / 2:.1f}" y="{node.y - height / 2:.1f}" width="{width}" height="{height}" rx="6"'
        return f'<rect class="host" {box}/><text class="name" {centre}>{escape(node.name)}</text>'
    name = f'<text class="name" {centre}>{escape(node.name)}</text>'
    return f'<circle class="router" cx="{node.x:.1f}" cy="{node.y:.1f}" r="{ROUTER}"/>{name}'
