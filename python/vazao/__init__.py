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

__all__ = [
    "ENGINE_VERSION", "App", "Campaign", "CongestionControl", "Copy", "Flow", "Link", "Network", "PathState",
    "Repeat", "Result", "ResultsError", "RunError", "Scenario", "ScenarioError", "Scheduler", "Send", "Situation",
    "Store", "Study", "StudyError", "Transport", "VazaoError", "__version__", "arrivals", "cbr", "command", "custom",
    "dccp",
    "download", "dumbbell", "flow", "link", "load_study", "messages", "mptcp", "multipath", "on_off", "open_campaign",
    "packet_generator", "packets", "page", "parking_lot", "path", "point_to_point", "quic", "requests", "run",
    "run_scenario", "sctp", "tcp", "udp", "upload", "video",
]  # fmt: skip

if TYPE_CHECKING:
    from vazao._core import ENGINE_VERSION, Scenario
    from vazao.compare import packets
    from vazao.errors import ResultsError, RunError, ScenarioError, StudyError, VazaoError
    from vazao.results import (
        Campaign,
        Result,
        Store,
        Study,
        __version__,
        load_study,
        open_campaign,
        run,
        run_scenario,
    )
    from vazao.scenario import (
        App,
        CongestionControl,
        Copy,
        Flow,
        Link,
        Network,
        PathState,
        Repeat,
        Scheduler,
        Send,
        Situation,
        Transport,
        arrivals,
        cbr,
        command,
        custom,
        dccp,
        download,
        dumbbell,
        flow,
        link,
        messages,
        mptcp,
        multipath,
        on_off,
        packet_generator,
        page,
        parking_lot,
        path,
        point_to_point,
        quic,
        requests,
        sctp,
        tcp,
        udp,
        upload,
        video,
    )
else:
    __getattr__, __dir__ = lazy.attached(__name__, __all__)
