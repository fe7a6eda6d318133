"""Viewing of runs: recordings, pages that draw them, and a page that runs them, each a file that needs no network."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.seeing.lesson import own_lesson as own_lesson
    from vazao.seeing.page import (
        FRAME as FRAME,
        Page as Page,
        built as built,
        digest as digest,
        is_built as is_built,
        view as view,
    )
    from vazao.seeing.play import has_engine as has_engine, lessons as lessons, play_page as play_page
    from vazao.seeing.recordings import MOST as MOST, Recording as Recording, header as header, record as record
    from vazao.seeing.rerun import Again as Again, again as again, can_rerun as can_rerun
else:
    __getattr__, __dir__ = lazy.attached(__name__)
