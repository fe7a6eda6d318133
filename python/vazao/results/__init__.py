"""Results: single runs and campaigns, their stored rows, and SQL queries over them."""

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
    from vazao.results.cleanup import clean as clean
    from vazao.results.cluster import Cluster as Cluster, cluster_of as cluster_of
    from vazao.results.consent import CodeRequest as CodeRequest
    from vazao.results.execution import Progress as Progress
    from vazao.results.experiment import (
        Experiment as Experiment,
        load as load,
        open as open,  # noqa: A004
    )
    from vazao.results.export import write_table as write_table
    from vazao.results.forecast import (
        Forecast as Forecast,
        forecast_run as forecast_run,
        forecast_runs as forecast_runs,
    )
    from vazao.results.laboratory import play as play
    from vazao.results.latex import escaped as escaped
    from vazao.results.manifest import MANIFEST as MANIFEST, read_manifest as read_manifest
    from vazao.results.measurement_files import joined as joined, kept_measurements as kept_measurements
    from vazao.results.measurements import Measured as Measured
    from vazao.results.merging import merge as merge
    from vazao.results.output_cache import product as product
    from vazao.results.pace import SMALLEST as SMALLEST, Pace as Pace, measured as measured
    from vazao.results.query_validation import validate_queries as validate_queries
    from vazao.results.readings import name_of as name_of
    from vazao.results.readme import PAPERS as PAPERS
    from vazao.results.reruns import Gate as Gate, stored_scenario as stored_scenario
    from vazao.results.result import Result as Result, run as run, run_scenario as run_scenario, table as table
    from vazao.results.shard import WHOLE as WHOLE, Shard as Shard
    from vazao.results.simulation import reject_unapproved_code as reject_unapproved_code, run_many as run_many
    from vazao.results.single import (
        StoredResult as StoredResult,
        check_place as check_place,
        keep as keep,
        kept_inputs as kept_inputs,
    )
    from vazao.results.store import Store as Store
    from vazao.results.verification import (
        Repeated as Repeated,
        Stored as Stored,
        planned_runs as planned_runs,
        stored_runs as stored_runs,
    )
    from vazao.results.version import __version__ as __version__
else:
    __getattr__, __dir__ = lazy.attached(__name__)
