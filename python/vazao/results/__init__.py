"""Results as a user holds them: single runs, experiments and campaigns, and tables exported from them."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.results.campaign import (
        Campaign as Campaign,
        Study as Study,
        default_directory as default_directory,
        load_study as load_study,
        open_campaign as open_campaign,
        run_study as run_study,
    )
    from vazao.results.experiment import Experiment as Experiment, load as load, open as open  # noqa: A004
    from vazao.results.export import write_table as write_table
    from vazao.results.laboratory import play as play
    from vazao.results.latex import escaped as escaped
    from vazao.results.merging import merge as merge
    from vazao.results.reruns import Gate as Gate, stored_scenario as stored_scenario
    from vazao.results.result import Result as Result, run as run, run_scenario as run_scenario
    from vazao.results.single import (
        StoredResult as StoredResult,
        check_place as check_place,
        keep as keep,
        kept_inputs as kept_inputs,
    )
    from vazao.results.verification import (
        Repeated as Repeated,
        Stored as Stored,
        planned_runs as planned_runs,
        stored_runs as stored_runs,
    )
else:
    __getattr__, __dir__ = lazy.attached(__name__)
