"""Errors about kernels."""

from vazao.errors import RunError, VazaoError


class KernelError(VazaoError):
    """A kernel cannot be built, found or used as asked: what is wrong, and what to do."""


class BuildError(KernelError, RunError):
    """A build was begun and failed: the step, the log and its last lines."""
