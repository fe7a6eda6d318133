"""Studies: a published evaluation as one file, the runs that it plans, and the verdicts on its claims."""

from typing import TYPE_CHECKING

from vazao import lazy

__all__ = [
    "Asked", "Factor", "Figure", "Finding", "Label", "Level", "Pair", "Part", "Plan", "PlannedRun", "Ruling", "Size",
    "Source", "Study", "Summary", "View", "built_in_studies", "catalogue", "combinations", "design_columns", "find",
    "findings", "is_built_in", "is_study", "parse_as", "parse_study", "plan", "read_text", "reasons", "told_not_run",
]  # fmt: skip

if TYPE_CHECKING:
    from vazao.study import catalogue, findings
    from vazao.study.design import combinations
    from vazao.study.findings import Asked, Pair, Ruling, reasons, told_not_run
    from vazao.study.load import parse_as, parse_study
    from vazao.study.model import Factor, Figure, Finding, Label, Level, Part, Size, Study, Summary, View
    from vazao.study.named import built_in_studies, find, is_built_in, is_study
    from vazao.study.planning import Plan, PlannedRun, design_columns, plan
    from vazao.study.source import Source, read_text
else:
    __getattr__, __dir__ = lazy.attached(__name__, __all__)
