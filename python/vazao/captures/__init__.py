"""Captures of real networks: their connections, what limited each, and recordings of them."""

from vazao.captures.reading import Capture, read
from vazao.captures.recorded import content, is_capture, record, record_both
from vazao.captures.texts import LIMITS, limited, sentence

__all__ = ["LIMITS", "Capture", "content", "is_capture", "limited", "read", "record", "record_both", "sentence"]
