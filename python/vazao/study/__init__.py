"""Studies: a published evaluation as one file, the runs that it plans, and the verdicts on its claims."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.study import catalogue as catalogue, findings as findings, reference as reference
    from vazao.study.design import combinations as combinations, labels_run as labels_run
    from vazao.study.findings import (
        Pair as Pair,
        Ruling as Ruling,
        Verdict as Verdict,
        counted as counted,
    )
    from vazao.study.load import parse_as as parse_as, parse_study as parse_study
    from vazao.study.model import (
        Factor as Factor,
        Figure as Figure,
        Finding as Finding,
        Label as Label,
        Level as Level,
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
        is_study as is_study,
        theses as theses,
    )
    from vazao.study.needs import Asked as Asked, reasons as reasons, told_not_run as told_not_run
    from vazao.study.planning import (
        Cell as Cell,
        Plan as Plan,
        PlannedRun as PlannedRun,
        design_columns as design_columns,
        plan as plan,
    )
    from vazao.study.reference import Meaning as Meaning
    from vazao.study.source import Source as Source, read_text as read_text
    from vazao.study.sweeping import (
        FLOW as FLOW,
        Variation as Variation,
        sweep as sweep,
        variation as variation,
        varied_flows as varied_flows,
    )
    from vazao.study.telling import sources as sources, told_in as told_in
else:
    __getattr__, __dir__ = lazy.attached(__name__)
