"""Kernels for guests: User Mode Linux, built on this machine from Debian's source or from any tree."""

from vazao.kernel.build import Outcome, build
from vazao.kernel.cache import DEFAULT_SERIES, SERIES, Kernel, built, kernels
from vazao.kernel.choice import default, find, missing, selection, use
from vazao.kernel.errors import BuildError, KernelError
from vazao.kernel.progress import Progress

__all__ = [
    "DEFAULT_SERIES", "SERIES", "BuildError", "Kernel", "KernelError", "Outcome", "Progress", "build", "built",
    "default", "find", "kernels", "missing", "selection", "use",
]  # fmt: skip
