"""Marks for tests that use external programs."""

from __future__ import annotations

import shutil

import pytest


def needs(program: str) -> pytest.MarkDecorator:
    """Mark that skips a test if a program is not installed, and names it as the reason."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")
