"""Results in the browser: a campaign's columns, cross-filtered views, findings, and the runs behind a point.

A small application serves them on loopback (extra `web`). A page describes a view; the SQL is generated here.
"""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.explore.directories import Directory as Directory, opened as opened
    from vazao.explore.pages import EXPLORER as EXPLORER, application as application, is_built as is_built
    from vazao.explore.play_server import laboratory as laboratory, play as play
    from vazao.explore.run_page import OpenRuns as OpenRuns, open_runs as open_runs
    from vazao.explore.server import serve as serve
else:
    __getattr__, __dir__ = lazy.attached(__name__)
