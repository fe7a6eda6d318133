"""Scenarios: built in Python or loaded from TOML, with the algorithms, files and kernels that they name."""

from typing import TYPE_CHECKING

from vazao import lazy

__all__ = [
    "App", "CongestionControl", "Copy", "Decision", "Entry", "Flow", "Input", "Link", "Network", "Parameter",
    "PathState", "Plugins", "Repeat", "Scheduler", "Send", "Situation", "Transport", "arrivals", "built_in",
    "built_in_scenarios", "cbr", "command", "custom", "dccp", "document", "download", "dumbbell", "fingerprint", "flow",
    "inputs_of", "kernels_at_hand", "kernels_of", "lacking", "link", "load", "messages", "mptcp", "multipath", "on_off",
    "packet_generator", "page", "parking_lot", "path", "point_to_point", "presets", "quic", "registry", "requests",
    "sctp", "tcp", "udp", "upload", "video",
]  # fmt: skip

if TYPE_CHECKING:
    from vazao.scenario.build import (
        App,
        Flow,
        Link,
        Network,
        Transport,
        arrivals,
        cbr,
        command,
        custom,
        dccp,
        document,
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
    from vazao.scenario.catalogue import Entry, Parameter, presets, registry
    from vazao.scenario.congestion import CongestionControl
    from vazao.scenario.guests import kernels_of, lacking
    from vazao.scenario.inputs import Input, inputs_of
    from vazao.scenario.loading import kernels_at_hand, load
    from vazao.scenario.packaged import built_in, built_in_scenarios
    from vazao.scenario.plugins import Plugins, fingerprint
    from vazao.scenario.scheduling import Copy, Decision, PathState, Repeat, Scheduler, Send, Situation
else:
    __getattr__, __dir__ = lazy.attached(__name__, __all__)
