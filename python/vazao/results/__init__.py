"""Results: runs and campaigns of runs, their rows on disk, and questions to them in SQL."""

from typing import TYPE_CHECKING

from vazao import lazy

__all__ = [
    "Campaign", "Pace", "Progress", "Result", "Store", "Study", "__version__", "check_place", "default_directory",
    "keep", "kept_inputs", "load_study", "measured", "open_campaign", "product", "rehearse", "run", "run_scenario",
    "run_study", "table",
]  # fmt: skip

if TYPE_CHECKING:
    from vazao.results.campaign import Campaign, Study, default_directory, load_study, open_campaign, run_study
    from vazao.results.made import product
    from vazao.results.pace import Pace, measured
    from vazao.results.rehearsal import rehearse
    from vazao.results.result import Result, run, run_scenario, table
    from vazao.results.running import Progress
    from vazao.results.single import check_place, keep, kept_inputs
    from vazao.results.store import Store
    from vazao.results.version import __version__
else:
    __getattr__, __dir__ = lazy.attached(__name__, __all__)
