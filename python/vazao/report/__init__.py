"""The report of a study: one HTML page that holds everything it needs, offline."""

from vazao.report.writing import html, write

__all__ = ["html", "write"]
