"""The report of a study: one HTML page that holds everything it needs, offline."""

from typing import TYPE_CHECKING

from vazao import lazy

__all__ = ["PAGE", "html", "write"]

if TYPE_CHECKING:
    from vazao.report.writing import PAGE, html, write
else:
    __getattr__, __dir__ = lazy.attached(__name__, __all__)
