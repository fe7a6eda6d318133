"""Programs that tests use where they are installed."""

from __future__ import annotations

import shutil

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """Mark of a test that cannot do without a program: it is skipped, and says which."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")
