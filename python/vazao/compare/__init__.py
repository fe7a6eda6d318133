"""Comparisons: one scenario on every stack that can play it, what differs, and where two traces part."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.compare.comparison import (
        MEASURES as MEASURES,
        Comparison as Comparison,
        Parted as Parted,
        Trial as Trial,
        compare as compare,
    )
    from vazao.compare.drawing import windows as windows
    from vazao.compare.traces import (
        TOLERANCE_S as TOLERANCE_S,
        Parting as Parting,
        packets as packets,
        parting as parting,
    )
    from vazao.compare.variants import STACKS as STACKS
else:
    __getattr__, __dir__ = lazy.attached(__name__)
