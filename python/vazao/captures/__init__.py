"""Captures of real networks: their connections, and what limited each."""

from vazao.captures.reading import Capture, read
from vazao.captures.texts import LIMITS, limited, sentence

__all__ = ["LIMITS", "Capture", "limited", "read", "sentence"]
