"""Errors about kernels."""

from vazao.errors import RunError, VazaoError


class KernelError(VazaoError):
    """A kernel cannot be built, found or used; the message explains the problem and what to do."""


class BuildError(KernelError, RunError):
    """A build failed after it started; the message names the step and the log, and quotes its last lines."""
