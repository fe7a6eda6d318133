"""Display of a comparison: differences, windows as sparklines, the packets at which traces diverge."""

from __future__ import annotations

from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from vazao import limits
from vazao.cli.terminal import out
from vazao.comparing import FULL_BYTES, Comparison, Divergence, flow_table, flow_title, seeds_note, windows
from vazao.units import cell, quantity

MAX_FLOWS = 8
"""Maximum number of flows that are shown; others are only counted."""

BARS = "▁▂▃▄▅▆▇█"


def show(made: Comparison, name: str) -> None:
    """Print a comparison in full."""
    out.print(Text(name, style="bold"))
    for trial in made.trials:
        kernel = _kernel(trial.result.runs) if trial.result else ""
        status = f"run {trial.result.scenario.run_id}{kernel}" if trial.result else trial.problem
        out.print(Text.assemble("  ", (f"{trial.name:<6}", "bold"), f" {status}"))
        for note in trial.notes:
            out.print(Text(f"         {note}", style="dim"))
    if made.replications:
        out.print(Text(f"  {seeds_note(made.replications)}", style="dim"))
    flows = next(iter(made.results.values())).flows
    for row in flows.head(MAX_FLOWS).iter_rows(named=True):
        _show_flow(made, row)
    if flows.height > MAX_FLOWS:
        out.print(f"\n … and {flows.height - MAX_FLOWS} more flows; --json has them all")
    if made.divergences:
        out.print(Text(f"\n{_explanation(made)}", style="dim"))


def _kernel(runs: pl.DataFrame) -> str:
    row = runs.row(0, named=True)
    return f", kernel {row['kernel']}, HZ {row['kernel_hz']}" if row.get("kernel") else ""


def _explanation(made: Comparison) -> str:
    flows = next(iter(made.results.values())).flows
    quic = (
        f" Of QUIC's lengths it counts whether they reach {FULL_BYTES} bytes." if "quic" in flows["transport"] else ""
    )
    return (
        "Traces are compared at the sender's interface: the n-th packet sent with the n-th sent, the n-th received "
        "with the n-th received. Two packets are the same if flags (but PSH), sequence and acknowledgement numbers, "
        "counted from the connection's first, and length are equal and times differ by "
        f"{quantity(made.tolerance_s, 's')} at most.{quic}"
    )


def _show_flow(made: Comparison, row: dict[str, Any]) -> None:
    """Print a flow's differences, its windows, and where its traces diverge."""
    flow = row["flow"]
    out.print()
    out.print(Text(flow_title(row), style="bold"))
    if made.played(flow):
        out.print(_differences(made, flow))
        _show_limits(made, flow)
    if lines := list(_sparklines(made, flow)):
        first = f", seed {made.replications.seeds[0]}" if made.replications else ""
        out.print(Text(f"\n  congestion window{first}"))
        for line in lines:
            out.print(line)
    found = [parted for parted in made.divergences if parted.flow == flow]
    for parted in found:
        _show_parting(*parted.runs, parted.packets, "the traces")
        if parted.data.first != parted.packets.first and any(parted.data.packets):
            _show_parting(*parted.runs, parted.data, "of the packets with data alone, the traces")
    for name in [name for name in made.results if name not in made.played(flow)]:
        out.print(f"\n  {name} does not play it")
    if not found and len(made.played(flow)) > 1:
        out.print("\n  its packets cannot be told apart in captures: no traces to compare")


def _differences(made: Comparison, flow: int) -> Table:
    """Table with a row for each measure: every run's value, and their differences."""
    rows = flow_table(made, flow)
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for n, name in enumerate(rows.headings):
        table.add_column(name, justify="right" if n else "left", overflow="fold")
    for first, *cells in rows.lines:
        table.add_row(f"  {first}", *cells)
    return table


def _show_limits(made: Comparison, flow: int) -> None:
    """Print the limit in which each run differs most from the last one."""
    for _, run, limit, seconds in made.limits.filter(pl.col("flow") == flow).iter_rows():
        kind = "more" if seconds > 0 else "less"
        what = f"{quantity(abs(seconds), 's')} {kind} {limits.WORDS[limit]}"
        out.print(f"\n  limits differ most in: {what} ({run} against {list(made.played(flow))[-1]})")


def _sparklines(made: Comparison, flow: int) -> list[Text]:
    """Congestion windows as sparklines with common axes; each bar is the maximum of its time bin."""
    frame = windows(made.results).filter(pl.col("flow") == flow)
    names = frame["run"].unique(maintain_order=True).to_list()
    if not names:
        return []
    label = max(map(len, names)) + 4
    width = min(out.width, 120) - label - 12
    end, top = frame["time_s"].max(), frame["value"].max()
    if not isinstance(end, float) or not isinstance(top, float) or end <= 0 or top <= 0 or width < 10:
        return []
    lines = []
    for name in names:
        steps = frame.filter(pl.col("run") == name).select("time_s", "value").rows()
        peaks = _peaks(steps, end, width)
        bars = "".join(" " if peak is None else BARS[min(int(peak / top * 8), 7)] for peak in peaks)
        highest = max(value for _, value in steps)
        lines.append(Text(f"  {name:<{label - 2}}{bars} ≤ {quantity(highest, 'B')}"))
    lines.append(Text(f"{'':<{label}}0 s{quantity(end, 's'):>{width - 3}}", style="dim"))
    return lines


def _peaks(steps: list[tuple[float, float]], end: float, width: int) -> list[float | None]:
    """Maximum in each of `width` equal time bins up to `end`; None for a bin without a value."""
    peaks: list[float | None] = [None] * width
    for (start, value), (until, _) in zip(steps, [*steps[1:], steps[-1]], strict=True):
        first, last = (min(int(time / end * width), width - 1) for time in (start, until))
        for place in range(first, last + 1):
            peaks[place] = max(value, peaks[place] or 0.0)
    return peaks


def _show_parting(one: str, other: str, found: Divergence, traces: str) -> None:
    """Print where two traces diverge, with the packets around that point."""
    ours, theirs = (cell("packets", count) for count in found.packets)
    if found.identical:
        out.print(f"\n  {traces} of {one} and {other} are identical: {ours} packets")
        return
    packet = found.first[0] or found.first[1] or {}
    if found.differs == ("missing",):
        shorter = one if found.first[0] is None else other
        what = f"which {shorter} does not have any more"
    else:
        what = f"by {' and '.join(found.differs)}"
        if found.differs == ("time",) and found.first[0] and found.first[1]:
            what += f", {quantity(abs(found.first[0]['time_s'] - found.first[1]['time_s']), 's')}"
    after = f"{cell('packets', found.same)} packet{'' if found.same == 1 else 's'}"
    place = f"packet {found.place} {packet.get('direction')}"
    out.print(f"\n  {traces} part after {after}, at {place}, {what} ({one} {ours} packets, {other} {theirs})")
    out.print(_packets(one, other, found))


def _packets(one: str, other: str, found: Divergence) -> Table:
    """Table of the packets around the divergence: equal ones with both times, the others with their own."""
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name, justify in (
        ("", "left"), (one, "right"), (other, "right"), ("", "left"), ("flags", "left"),
        ("sequence", "right"), ("length", "right"), ("ack", "right"),
    ):  # fmt: skip
        table.add_column(name, justify=justify, overflow="fold")  # type: ignore[arg-type]
    # QUIC packets sent at the same time look alike: only the first of them is marked.
    later = [
        (packet, side, found.first[side] == packet not in rest[:number])
        for side, rest in enumerate(found.after)
        for number, packet in enumerate(rest)
    ]
    sacked = any(packet["sack"] for packet in [*(p for pair in found.before for p in pair), *(p for p, *_ in later)])
    if sacked:
        table.add_column("SACK", overflow="fold")
    for ours, theirs in found.before:
        table.add_row(" ", _time(ours), _time(theirs), *_fields(ours, sacked), style="dim")
    for packet, side, parts in sorted(later, key=lambda each: each[0]["time_s"]):
        times = [_time(packet) if side == place else "" for place in (0, 1)]
        table.add_row(f" {'▸' if parts else ' '}", *times, *_fields(packet, sacked))
    return table


def _time(packet: dict[str, Any]) -> str:
    return f"{packet['time_s']:.6f}"


def _fields(packet: dict[str, Any], sacked: bool) -> list[str]:
    """Cells of a packet: direction, flags, sequence number, length, acknowledgement, SACK blocks."""
    numbers = ["–" if packet[name] is None else str(packet[name]) for name in ("sequence", "length", "acknowledgment")]
    flags = packet["flags"] or packet.get("protocol") or ""
    return [packet["direction"], flags, *numbers, *([_sack(packet)] if sacked else [])]


def _sack(packet: dict[str, Any]) -> str:
    """SACK blocks with sequence numbers relative to the connection's first."""
    base = packet["base"] or 0

    def relative(block: str) -> str:
        return "-".join(str((int(edge) - base) % 2**32) for edge in block.split("-"))

    return " ".join(relative(block) for block in (packet["sack"] or "").split())
