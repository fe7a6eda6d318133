"""Scenarios: built in Python or loaded from TOML, with the algorithms, files and kernels that they name."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.scenario import registered as registered
    from vazao.scenario.application import Application as Application
    from vazao.scenario.build import *
    from vazao.scenario.build import document as document
    from vazao.scenario.builders import *
    from vazao.scenario.catalogue import (
        Entry as Entry,
        Parameter as Parameter,
        presets as presets,
        registry as registry,
    )
    from vazao.scenario.congestion import CongestionControl as CongestionControl
    from vazao.scenario.guests import (
        Needs as Needs,
        lacking as lacking,
        needs_of as needs_of,
    )
    from vazao.scenario.inputs import (
        Input as Input,
        Named as Named,
        inputs_of as inputs_of,
        merged_inputs as merged_inputs,
    )
    from vazao.scenario.loader import (
        available_stacks as available_stacks,
        from_json as from_json,
        load as load,
    )
    from vazao.scenario.loss_model import LossModel as LossModel
    from vazao.scenario.own import Allowed as Allowed
    from vazao.scenario.packaged import built_in as built_in, built_in_scenarios as built_in_scenarios
    from vazao.scenario.packet_scheduler import (
        Copy as Copy,
        Decision as Decision,
        PathState as PathState,
        Repeat as Repeat,
        Scheduler as Scheduler,
        Send as Send,
        Situation as Situation,
    )
    from vazao.scenario.plugins import Plugins as Plugins, fingerprint as fingerprint
    from vazao.scenario.queueing import Queue as Queue
    from vazao.scenario.recipe import Recipe as Recipe, read_each as read_each
    from vazao.scenario.slow_start import SlowStart as SlowStart
    from vazao.scenario.user_modules import installed as installed
else:
    __getattr__, __dir__ = lazy.attached(__name__)
