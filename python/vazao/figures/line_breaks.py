"""Line breaking of category labels, so that they fit side by side."""

import re
from collections.abc import Sequence


def in_lines(labels: Sequence[str], width: float) -> dict[str, list[str]]:
    """Break labels into lines that fit side by side in two thirds of `width`, as a page may be narrower.

    Every line has room for the longest word, and a number stays with its unit.
    """
    kept = {label: re.sub(r"(?<=\d) (?=\S{1,6}(\s|$))", "\xa0", label) for label in labels}
    words = max((len(word) for label in kept.values() for word in re.split(rf"{HYPHEN}| ", label)), default=1)
    room = max(words, int((width * 2 / 3 / max(len(labels), 1) - 6) / LETTER))
    return {label: lines_of(text, room) for label, text in kept.items()}


def lines_of(text: str, room: int) -> list[str]:
    """Break a text at spaces and after hyphens into lines of at most `room` characters."""
    lines = [""]
    for word in re.split(rf"{HYPHEN}|(?<= )", text):
        if lines[-1] and len((lines[-1] + word).rstrip(" ")) > room:
            lines.append("")
        lines[-1] += word
    return [line.strip(" ") for line in lines]


HYPHEN = r"(?<=\w\w-)"
"""Position after a hyphen where a line may break; not after that of 1-RTT."""

LETTER = 6.2
"""Width of a label's letter in points; labels too wide to fit side by side are slanted."""
