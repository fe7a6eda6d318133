"""Studies: a published evaluation as one file that can be run again."""

from vazao.study.design import combinations
from vazao.study.guests import kernels, lacking
from vazao.study.load import built_in_scenarios, built_in_studies, find, is_built_in, is_study, load_study, parse_study
from vazao.study.model import Factor, Figure, Finding, Label, Level, Part, Size, Study, Summary, View
from vazao.study.plan import Plan, PlannedRun, design_columns, plan

__all__ = [
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
    "Summary",
    "View",
    "built_in_scenarios",
    "built_in_studies",
    "combinations",
    "design_columns",
    "find",
    "is_built_in",
    "is_study",
    "kernels",
    "lacking",
    "load_study",
    "parse_study",
    "plan",
]
