"""Comparisons: one scenario on every stack that can play it, what differs, and where two traces part."""

from vazao.compare.comparison import MEASURES, Comparison, Parted, Trial, compare
from vazao.compare.drawing import windows
from vazao.compare.traces import TOLERANCE_S, Parting, packets, parting
from vazao.compare.variants import STACKS

__all__ = [
    "MEASURES", "STACKS", "TOLERANCE_S", "Comparison", "Parted", "Parting", "Trial", "compare", "packets", "parting",
    "windows",
]  # fmt: skip
