"""Vazão: a laboratory for transport protocols.

import vazao as vz
net = vz.dumbbell(bottleneck=vz.link("10 Mbps", "50 ms", queue="1 bdp"), pairs=2)
result = vz.run(net, [vz.flow(vz.upload("10 MB"), vz.tcp(cc="cubic"))], seed=1, trace=["cwnd"])
result.flows            # a polars DataFrame
result.plot("cwnd")     # an Altair chart

study = vz.load_study("hstcp-2010")
done = study.run(size="quick")      # done.runs, done.findings, done.figure("utilisation")
"""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao._core import ENGINE_VERSION as ENGINE_VERSION, Scenario as Scenario
    from vazao.captures import Capture as Capture, read as read
    from vazao.causes import Answer as Answer, why as why
    from vazao.comparing import Comparison as Comparison, compare as compare, packets as packets
    from vazao.errors import (
        ClusterError as ClusterError,
        ResultsError as ResultsError,
        RunError as RunError,
        ScenarioError as ScenarioError,
        StudyError as StudyError,
        VazaoError as VazaoError,
    )
    from vazao.figures import Style as Style, style as style
    from vazao.results import (
        Campaign as Campaign,
        Experiment as Experiment,
        Result as Result,
        StoredResult as StoredResult,
        Study as Study,
        load as load,
        load_study as load_study,
        open as open,  # noqa: A004
        open_campaign as open_campaign,
        play as play,
        run as run,
        run_scenario as run_scenario,
        write_table as write_table,
    )
    from vazao.scenario import (
        Application as Application,
        CongestionControl as CongestionControl,
        Copy as Copy,
        LossModel as LossModel,
        PathState as PathState,
        Queue as Queue,
        Repeat as Repeat,
        Scheduler as Scheduler,
        Send as Send,
        Situation as Situation,
        SlowStart as SlowStart,
    )
    from vazao.scenario.build import *
    from vazao.scenario.builders import *
    from vazao.store import Store as Store, __version__ as __version__
    from vazao.twins import Twin as Twin, twin as twin
else:
    __getattr__, __dir__ = lazy.attached(__name__)
