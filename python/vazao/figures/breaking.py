"""Labels of categories in lines, so that they stand side by side."""

import re
from collections.abc import Sequence


def in_lines(labels: Sequence[str], width: float) -> dict[str, list[str]]:
    """Each category's label in lines that stand beside the others in two thirds of `width`: a page may have less.

    No line is shorter than the longest word, and a number keeps its unit.
    """
    kept = {label: re.sub(r"(?<=\d) (?=\S{1,6}(\s|$))", "\xa0", label) for label in labels}
    words = max((len(word) for label in kept.values() for word in re.split(rf"{HYPHEN}| ", label)), default=1)
    room = max(words, int((width * 2 / 3 / max(len(labels), 1) - 6) / LETTER))
    return {label: lines_of(text, room) for label, text in kept.items()}


def lines_of(text: str, room: int) -> list[str]:
    """A text in lines of so many letters at most, broken at blanks and after hyphens."""
    lines = [""]
    for word in re.split(rf"{HYPHEN}|(?<= )", text):
        if lines[-1] and len((lines[-1] + word).rstrip(" ")) > room:
            lines.append("")
        lines[-1] += word
    return [line.strip(" ") for line in lines]


HYPHEN = r"(?<=\w\w-)"
"""Behind a hyphen that a line may end with: not that of 1-RTT."""

LETTER = 6.2
"""Width of a letter of a label, in points: categories too wide to stand side by side are slanted."""
