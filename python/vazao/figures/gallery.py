"""The figures of a study, drawn from its stored results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from vazao.errors import StudyError, did_you_mean
from vazao.figures.channels import Face, Plot
from vazao.figures.faces import Drawing, files
from vazao.figures.rows import UNDRAWN, Measurements, prepare, translated
from vazao.figures.theme import PAPER
from vazao.files import make_folder, write_atomically
from vazao.study import Figure, Queryable, Study

if TYPE_CHECKING:
    from vazao.figures.faces import AnyChart


def drawer(study: Study, asked: Queryable, measurements: Sequence[Measurements] = ()) -> Callable[[Figure], Drawing]:
    """Return a function that draws the figures of a study, with `measurements` beside their rows.

    The function queries a figure's rows and determines the order and colours of labels, once per column. It raises
    `StudyError` when the query fails or lacks a column that the figure names.
    """
    words = study.words
    known = cache(partial(labels, study, asked))

    def draw(figure: Figure) -> Drawing:
        figure = figure.model_copy(update=dict(_texts(figure)))
        columns = [column for column in (figure.x, figure.color, figure.facet) if column]
        try:
            rows = translated(prepare(figure, asked, words, measurements), columns, words)
        except StudyError as error:
            raise study.placed(figure, error) from None
        orders = {column: [words.label(label) for label in known(column)] for column in columns}
        colors = orders.get(figure.color or "", [])
        return Drawing(Plot(figure, rows, PAPER, Face.STILL, colors, orders, words))

    return draw


def drawing(study: Study, asked: Queryable, figure: Figure, measurements: Sequence[Measurements] = ()) -> Drawing:
    """One figure of a study; see `drawer`."""
    return drawer(study, asked, measurements)(figure)


def _texts(figure: Figure) -> Iterator[tuple[str, str]]:
    """Texts of a figure by field, without characters that a drawing cannot contain."""
    for name in ("title", "caption", "x_title", "y_title", "color_title", "facet_title", "x_unit", "y_unit"):
        if text := getattr(figure, name):
            # Vega-Lite takes a backslash in an axis title for the start of an escape.
            yield name, re.sub(UNDRAWN, " ", text).replace("\\", "\N{SET MINUS}")


def drawings(study: Study, asked: Queryable, measurements: Sequence[Measurements] = ()) -> Iterator[Drawing]:
    """Every figure of the study."""
    return map(drawer(study, asked, measurements), study.figures)


def chart(study: Study, asked: Queryable, figure_id: str, measurements: Sequence[Measurements] = ()) -> AnyChart:
    """The figure with this id as an Altair chart: hover shows values, a click in the legend picks a series.

    Raises `StudyError` when the study has no such figure or it cannot be drawn.
    """
    for figure in study.figures:
        if figure.id == figure_id:
            return drawing(study, asked, figure, measurements).chart()
    hint = did_you_mean(figure_id, (figure.id for figure in study.figures))
    raise StudyError(f"the study has no figure {figure_id!r}{hint}")


def render(study: Study, asked: Queryable, out_dir: Path, measurements: Sequence[Measurements] = ()) -> dict[str, Path]:
    """Write every figure as `out_dir/figures/ID.{svg,pdf,png,json}`; returns file name to path.

    A figure without rows has no files.
    """
    folder = Path(out_dir) / "figures"
    make_folder(folder)
    written: dict[str, Path] = {}
    # Rasterising is most of the work and releases the GIL, so the next rows are queried meanwhile.
    with ThreadPoolExecutor() as pool:
        drawn = (one for one in drawings(study, asked, measurements) if not one.rows.frame.is_empty())
        every = [(one, pool.submit(files, one)) for one in drawn]
        for one, formats in every:
            for suffix, content in formats.result().items():
                path = folder / f"{one.figure.id}.{suffix}"
                write_atomically(path, content)
                written[path.name] = path
    return written


def labels(study: Study, asked: Queryable, column: str) -> list[str]:
    """All labels of a column in the study, in order; a label's index determines its colour in every figure.

    A factor's labels are its levels as written. Any other column's labels are those in the figures that it colours, in
    the order of a factor that has them all, if there is one.
    """
    if levels := [str(label) for label in study.labels(column)]:
        return levels
    known: dict[str, None] = {}
    for figure in study.figures:
        if figure.color == column:
            known |= dict.fromkeys(prepare(figure, asked).frame[column].unique(maintain_order=True))
    for factor in dict.fromkeys(factor.name for part in study.parts for factor in part.factors):
        levels = [str(label) for label in study.labels(factor)]
        if known and known.keys() <= set(levels):
            return [label for label in levels if label in known]
    return list(known)
