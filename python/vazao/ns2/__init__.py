"""ns-2 as a stack: a scenario told to another simulator, which runs it whole, and what that says as tables of ours."""

from vazao.ns2.program import Program, find, missing
from vazao.ns2.running import Outcome, run, run_many
from vazao.ns2.translation import STACK, check, plays

__all__ = ["STACK", "Outcome", "Program", "check", "find", "missing", "plays", "run", "run_many"]
