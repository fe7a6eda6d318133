"""Pages as notebook widgets: the viewer, and the laboratory, whose scenario Python can read and set."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.widgets.extra import frames as frames, in_notebook as in_notebook
    from vazao.widgets.frame import Frame as Frame, Laboratory as Laboratory, View as View
else:
    __getattr__, __dir__ = lazy.attached(__name__)
