"""ns-2 as a stack: translates a scenario, lets ns-2 run all of it, and converts the output into our tables."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.ns2.process import Outcome as Outcome, run as run, run_many as run_many
    from vazao.ns2.program import (
        COMMAND as COMMAND,
        PACKAGE as PACKAGE,
        Program as Program,
        find as find,
        missing as missing,
    )
    from vazao.ns2.translation import STACK as STACK, check as check, plays as plays
else:
    __getattr__, __dir__ = lazy.attached(__name__)
