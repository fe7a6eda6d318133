"""Studies: a published evaluation as one file that can be run again."""

from vazao.study.design import combinations
from vazao.study.load import built_in_studies, find, is_study, load_study, parse_study
from vazao.study.model import Factor, Figure, Finding, Label, Level, Part, Size, Study
from vazao.study.plan import HOPS_PER_CORE_SECOND, Plan, PlannedRun, design_columns, plan

__all__ = [
    "HOPS_PER_CORE_SECOND",
    "Factor",
    "Figure",
    "Finding",
    "Label",
    "Level",
    "Part",
    "Plan",
    "PlannedRun",
    "Size",
    "Study",
    "built_in_studies",
    "combinations",
    "design_columns",
    "find",
    "is_study",
    "load_study",
    "parse_study",
    "plan",
]
