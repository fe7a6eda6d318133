"""Writes the recording of a scenario: `python web/tools/recorded.py < two.toml > two.rec`."""

import sys

from vazao import _core

recording = _core.run(_core.load(sys.stdin.read()), recording=10_000_000).recording
sys.stdout.buffer.write(recording or b"")
