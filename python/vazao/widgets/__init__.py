"""Pages as widgets of a notebook: the viewer, and the laboratory, whose scenario Python reads and sets."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.widgets.extra import frames as frames, in_notebook as in_notebook
    from vazao.widgets.frame import Frame as Frame, Laboratory as Laboratory, View as View
else:
    __getattr__, __dir__ = lazy.attached(__name__)
