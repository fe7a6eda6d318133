"""Studies: a published evaluation as one file, the runs that it plans, and the verdicts on its claims."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.study import (
        catalogue as catalogue,
        findings as findings,
        reference as reference,
        registration as registration,
    )
    from vazao.study.design import (
        MAX_LOOKED_AT as MAX_LOOKED_AT,
        Combination as Combination,
        combinations as combinations,
        combinations_of as combinations_of,
        is_run as is_run,
        labels_of as labels_of,
        labels_run as labels_run,
    )
    from vazao.study.fields import Label as Label
    from vazao.study.findings import (
        Pair as Pair,
        Ruling as Ruling,
        Verdict as Verdict,
        counted as counted,
    )
    from vazao.study.load import parse_as as parse_as, parse_study as parse_study
    from vazao.study.model import (
        STORED_TABLES as STORED_TABLES,
        Factor as Factor,
        Figure as Figure,
        Finding as Finding,
        Level as Level,
        Measurements as Measurements,
        Part as Part,
        Size as Size,
        Study as Study,
        Summary as Summary,
        View as View,
    )
    from vazao.study.named import (
        built_in_studies as built_in_studies,
        find as find,
        is_all_theses as is_all_theses,
        is_built_in as is_built_in,
        is_shipped as is_shipped,
        is_study as is_study,
        theses as theses,
    )
    from vazao.study.needs import (
        Present as Present,
        Queryable as Queryable,
        not_run_message as not_run_message,
        reasons as reasons,
    )
    from vazao.study.planning import (
        Cell as Cell,
        Plan as Plan,
        PlannedRun as PlannedRun,
        design_columns as design_columns,
        plan as plan,
        scenario_of as scenario_of,
        scenarios_of as scenarios_of,
    )
    from vazao.study.reference import Meaning as Meaning
    from vazao.study.source import CAPTURES as CAPTURES, Source as Source, read_text as read_text, readable as readable
    from vazao.study.sweeps import (
        FLOW as FLOW,
        Variation as Variation,
        sweep as sweep,
        variation as variation,
        varied_flows as varied_flows,
    )
    from vazao.study.translation import in_language as in_language, sources as sources
else:
    __getattr__, __dir__ = lazy.attached(__name__)
