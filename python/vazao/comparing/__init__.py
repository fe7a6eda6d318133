"""Comparisons of one scenario on every stack that can run it: what differs, and where two traces diverge."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.comparing.comparison import (
        Comparison as Comparison,
        TraceComparison as TraceComparison,
        Trial as Trial,
        compare as compare,
        default_directory as default_directory,
    )
    from vazao.comparing.replications import MEASURES as MEASURES, Replications as Replications
    from vazao.comparing.texts import (
        FlowTable as FlowTable,
        flow_table as flow_table,
        flow_title as flow_title,
        seeds_note as seeds_note,
    )
    from vazao.comparing.traces import (
        FULL_BYTES as FULL_BYTES,
        TOLERANCE_S as TOLERANCE_S,
        Divergence as Divergence,
        first_divergence as first_divergence,
        packets as packets,
    )
    from vazao.comparing.variants import STACKS as STACKS
    from vazao.comparing.window_plot import windows as windows
else:
    __getattr__, __dir__ = lazy.attached(__name__)
