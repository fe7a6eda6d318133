"""Answers in words."""

from __future__ import annotations

from typing import Any

from vazao import limits
from vazao.causes.inquiry import Answer, Effect
from vazao.causes.suspects import SUSPECTS
from vazao.twins import UNLIKE
from vazao.units import quantity

PATH_IS_FULL = 0.75
"""Share of a flow's life in which its path is busy from which on the path is the answer."""

NOTHING_TO_SEND = 0.5
"""Share of a flow's life with nothing to send from which on the application is the answer."""


def rate(bps: float) -> str:
    """A rate as sentences have it: `64.2 Mbit/s`."""
    return quantity(bps, "bit/s")


def sentence(answer: Answer) -> str:
    """The answer in a paragraph."""
    if answer.name.startswith(UNLIKE):
        return f"This is a {answer.name}: nothing of what follows is known of that. By itself: {_sentence(answer)}"
    return _sentence(answer)


def _sentence(answer: Answer) -> str:
    had = rate(answer.goodput_bps) + (f" of at most {rate(answer.bound.goodput_bps)}" if answer.bound else "")
    if not answer.steps:
        return f"{had}: {_unexplained(answer)}."
    if answer.hiding:
        (all_gone,) = answer.steps
        names = listed([answer.titles[name] for name in answer.hiding])
        cause = f"{names} hide each other: none of them costs much alone, together they cost {rate(all_gone.gain_bps)}"
        return f"{had}: {cause}{_afterwards(all_gone, 2)}."
    first, *others = answer.steps
    causes = [listed([answer.titles[name] for name in sorted(taken)]) for taken in answer.taken]
    missing = answer.missing_bps
    if missing and first.gain_bps >= missing:
        explained = f"all of the missing {rate(missing)}"
    else:
        explained = rate(first.gain_bps) + (f" of the missing {rate(missing)}" if missing else "")
    parts = [f"{had}: {causes[0]} explains {explained}"]
    parts += [
        f"once that is gone {cause} explains {rate(effect.gain_bps)} more"
        for cause, effect in zip(causes[1:], others, strict=True)
    ]
    return "; ".join(parts) + _afterwards(answer.steps[-1], len(answer.steps)) + "."


def _afterwards(last: Effect, steps: int = 1) -> str:
    """Clause about the goodput, and its limits, when all of it is gone."""
    said = limits.sentence(dict(list(last.limits.items())[:2]))
    gone = "with it gone" if steps == 1 else "with all of it gone"
    return f"; {gone} the flow has {rate(last.goodput_bps)}" + (f", limited by {said}" if said else "")


def _unexplained(answer: Answer) -> str:
    """Clause where no suspect matters: the path, the application, or that there is no explanation."""
    path, idle = (100 * answer.limits.get(limit, 0.0) for limit in (limits.PATH, "application"))
    if path >= 100 * PATH_IS_FULL:
        return f"the path is the limit, busy for {path:.0f} % of the time; neither end could make the flow faster"
    if idle >= 100 * NOTHING_TO_SEND:
        return f"the application is the limit, with nothing to send for {idle:.0f} % of the time"
    said = limits.sentence(answer.limits)
    return f"not explained: none of the suspects matters, alone or together with all others; it was limited by {said}"


def listed(names: list[str]) -> str:
    """Names as a sentence lists them."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def as_json(answer: Answer) -> dict[str, Any]:
    """An answer for programs."""

    def effect(one: Effect) -> dict[str, Any]:
        return {
            "removed": sorted(one.removed),
            "goodput_bps": one.goodput_bps,
            "gain_bps": one.gain_bps,
            "interval_bps": one.interval and list(one.interval),
            "limits": dict(one.limits),
        }

    known = answer.bound
    return {
        "scenario": answer.name,
        "flow": answer.flow,
        "answer": sentence(answer),
        "goodput_bps": answer.goodput_bps,
        "bound_bps": known.goodput_bps if known else None,
        "seeds": answer.seeds,
        "runs": answer.runs,
        "limits": dict(answer.limits),
        "alone": [effect(one) for one in answer.alone],
        "steps": [effect(one) for one in answer.steps],
        "hiding": list(answer.hiding),
    }


def effect_lines(answer: Answer) -> list[list[str]]:
    """A table of texts: what each suspect that matters costs alone, who could change it, and how; headings first."""
    lines = [["without", "goodput", "gain", "95 % interval", "who could change it", "how"]]
    for effect in answer.matters:
        (name,) = effect.removed
        suspect = next(one for one in SUSPECTS if one.name == name)
        low, high = effect.interval or (None, None)
        span = f"{rate(low)} to {rate(high)}" if low is not None and high is not None else ""
        title = answer.titles[name]
        lines.append([title, rate(effect.goodput_bps), rate(effect.gain_bps), span, suspect.who, suspect.remedy])
    kept = [place for place, _ in enumerate(lines[0]) if len(lines) == 1 or any(line[place] for line in lines[1:])]
    return [[line[place] for place in kept] for line in lines]
