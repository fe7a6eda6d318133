"""Causes of a flow's slowness: its limits accounted for, each suspect taken away, and what that brings."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.causes.document import Document as Document
    from vazao.causes.inquiry import (
        MOST_RUNS as MOST_RUNS,
        SEEDS as SEEDS,
        Answer as Answer,
        Effect as Effect,
        why as why,
    )
    from vazao.causes.page import write as write
    from vazao.causes.suspects import SUSPECTS as SUSPECTS
    from vazao.causes.texts import as_json as as_json, effect_lines as effect_lines, sentence as sentence
else:
    __getattr__, __dir__ = lazy.attached(__name__)
