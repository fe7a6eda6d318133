"""Comparisons: one scenario on every stack that can play it, what differs, and where two traces part."""

from typing import TYPE_CHECKING

from vazao import lazy

__all__ = [
    "MEASURES", "STACKS", "TOLERANCE_S", "Comparison", "Parted", "Parting", "Trial", "compare", "packets", "parting",
    "windows",
]  # fmt: skip

if TYPE_CHECKING:
    from vazao.compare.comparison import MEASURES, Comparison, Parted, Trial, compare
    from vazao.compare.drawing import windows
    from vazao.compare.traces import TOLERANCE_S, Parting, packets, parting
    from vazao.compare.variants import STACKS
else:
    __getattr__, __dir__ = lazy.attached(__name__, __all__)
