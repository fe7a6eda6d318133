"""The report of a study: one self-contained HTML page that works offline."""

from typing import TYPE_CHECKING

from vazao import lazy

if TYPE_CHECKING:
    from vazao.report.document import PAGE as PAGE, html as html, write as write, write_index as write_index
else:
    __getattr__, __dir__ = lazy.attached(__name__)
