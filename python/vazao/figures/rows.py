"""Rows of a figure: queried, checked, aggregated, ordered, thinned, with reported and measured values."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import polars as pl

from vazao.errors import ResultsError, StudyError, did_you_mean
from vazao.statistics import t_quantile
from vazao.study import Figure, Queryable
from vazao.units import FRACTIONS, measure, unit_of
from vazao.words import ENGLISH, Words

CAP = 6000
"""Maximum number of rows a figure draws: a screen has no more columns of pixels, and the page must stay light."""

CONFIDENCE = 0.95

UNDRAWN = r"[\x00-\x1f\x7f-\x9f\ufffe\uffff]"
"""Characters that no text of a drawing can contain."""

LABELS = (pl.String, pl.Boolean, pl.Enum, pl.Categorical, pl.Null)
"""Column types that can become labels, besides numbers and times."""

OWN = {
    "n",
    "low",
    "high",
    "q1",
    "q3",
    "median",
    "mark",
    "measured_by",
    "panel",
    "deviation",
    "half",
    "x_text",
    "y_text",
}
"""Columns that statistics and tooltips add to a figure's own."""


class Measurements(Protocol):
    """An author's own measurements, which figures draw beside simulated results."""

    @property
    def name(self) -> str:
        """The name of the set."""

    def asked(self, figure: Figure) -> Queryable | None:
        """Tables with everything that a figure draws; None where there are no such rows."""


@dataclass(frozen=True)
class Rows:
    """The rows that a figure draws.

    Columns keep the query's names; statistics are `low`, `high`, `n`, and for boxes `q1`, `median`, `q3`.
    """

    frame: pl.DataFrame
    interval: bool = False
    note: str = ""
    outliers: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Values beyond the whiskers of boxes."""
    reported: pl.DataFrame = field(default_factory=pl.DataFrame)
    """Values that the original reports."""
    measured: dict[str, pl.DataFrame] = field(default_factory=dict)
    """Rows of each measurement set that the figure draws, prepared like its own."""

    def drawn(self) -> pl.DataFrame:
        """All rows in one table, so that each is drawn in its panel; `mark` flags those that are not the figure's own.

        Measured rows are marked as reported, with the name of their set in `measured_by`.
        """
        marks = {"outlier": self.outliers, "reported": self.reported}
        others = [rows.with_columns(mark=pl.lit(mark)) for mark, rows in marks.items() if rows.height]
        for name, rows in self.measured.items():
            others.append(rows.with_columns(mark=pl.lit("reported"), measured_by=pl.lit(name)))
        return pl.concat([self.frame, *others], how="diagonal_relaxed") if others else self.frame


def prepare(
    figure: Figure, asked: Queryable, words: Words = ENGLISH, measurements: Sequence[Measurements] = ()
) -> Rows:
    """Rows of a figure: queried, checked, aggregated by `error` and `kind`, thinned; with reported and measured rows.

    The note is in the language of `words`.
    """
    frame = query(figure, asked)
    beside = {one.name: rows for one in measurements if (rows := _measured(figure, one, words)) is not None}
    return replace(_own(figure, frame, words), reported=_reported(figure, frame), measured=beside)


def _measured(figure: Figure, one: Measurements, words: Words) -> pl.DataFrame | None:
    """Rows of the figure's query on a measurement set; None where it returns none."""
    asked = one.asked(figure)
    if asked is None:
        return None
    try:
        made = _own(figure, query(figure, asked), words).frame
    except StudyError:  # rows that no run would give
        return None
    if figure.kind == "ecdf":
        made = made.filter(pl.col(figure.y) > 0)
    return made if made.height else None


def _reported(figure: Figure, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows that the original reports, in each of their panels; series that are not drawn here are omitted."""
    columns = [c for c in (figure.x, figure.y, figure.color, figure.facet) if c]
    rows = [
        {column: _mark(figure, column, row[column], frame.schema[column]) for column in columns if column in row}
        for row in figure.reported
    ]
    schema = {column: frame.schema[column] for column in columns}
    table = pl.DataFrame(rows, schema=schema)
    for column in filter(None, (figure.color, figure.facet)):
        table = table.filter(pl.col(column).is_null() | pl.col(column).is_in(frame[column].unique().implode()))
    if figure.facet:
        panels = frame.select(figure.facet).unique(maintain_order=True).rename({figure.facet: "panel"})
        table = table.join(panels, how="cross").filter(
            pl.col(figure.facet).fill_null(pl.col("panel")) == pl.col("panel")
        )
        table = table.with_columns(pl.col("panel").alias(figure.facet)).drop("panel")
    return table


def _mark(figure: Figure, column: str, value: str | float, kind: pl.DataType) -> str | float:
    """A reported value in its column's unit."""
    if not kind.is_numeric():
        return str(value)
    if not isinstance(value, str):
        return float(value)
    if (read := measure(value)) is None:
        raise StudyError(
            f"figure {figure.id}: reported: {column} = {value!r} is no number; write a quantity like '70 s' or a number"
        )
    return read.value


def _own(figure: Figure, frame: pl.DataFrame, words: Words) -> Rows:
    """The figure's own rows: aggregated by `error` and `kind`, thinned."""
    keys = [c for c in (figure.x, figure.color, figure.facet) if c]
    if figure.kind == "ecdf":
        return distribution(frame, figure, words)
    if figure.kind == "box":
        return boxes(frame, list(dict.fromkeys(keys)), figure.y)
    if figure.error == "ci95" or (figure.kind == "band" and not {"low", "high"} <= set(frame.columns)):
        return Rows(bounded(interval95(frame, list(dict.fromkeys(keys)), figure.y), figure.y), interval=True)
    series = [c for c in (figure.color, figure.facet, "run_id", "replication") if c in frame.columns]
    thinned = thin(frame, list(dict.fromkeys(series)), figure.y)
    wanted = dict.fromkeys([*keys, figure.y, *series, "low", "high"])
    interval = {"low", "high"} <= set(frame.columns)
    drawn = thinned.select(c for c in wanted if c in frame.columns)
    return Rows(
        bounded(drawn, figure.y) if interval else drawn,
        interval=interval,
        note=_note(thinned.height, frame.height, words),
    )


def query(figure: Figure, asked: Queryable) -> pl.DataFrame:
    """The rows of the figure's query, with its columns checked and series converted to labels.

    Raises `StudyError` when the query fails, lacks a column or gives no value for `y`.
    """
    try:
        frame = asked.query(figure.sql)
    except ResultsError as error:
        raise StudyError(f"figure {figure.id}: the query failed: {error}") from None
    for key in ("x", "y", "color", "facet"):
        column = getattr(figure, key)
        if column in OWN or (key != "y" and column == figure.y):
            taken = "the figure's statistics have" if column in OWN else "y has"
            raise StudyError(f"figure {figure.id}: {key}: {taken} the column {column!r}; give it another name with AS")
        if column and column not in frame.columns and not (key == "y" and figure.kind == "ecdf"):
            hint = did_you_mean(column, frame.columns)
            raise StudyError(f"figure {figure.id}: {key}: {column!r} is not a column of its query{hint}")
    if figure.kind == "ecdf":
        if not frame.schema[figure.x].is_numeric():
            raise StudyError(
                f"figure {figure.id}: x: {figure.x!r} is not a number, whose distribution kind = 'ecdf' draws"
            )
    elif not frame.schema[figure.y].is_numeric():
        raise StudyError(f"figure {figure.id}: y: {figure.y!r} is not a number")
    if figure.kind == "ecdf":
        frame = frame.with_columns(pl.lit(None, pl.Float64).alias(figure.y))  # counted later
    else:
        frame = frame.with_columns(pl.col(figure.y).cast(pl.Float64))
        frame = frame.filter(pl.col(figure.y).is_finite())  # also drops null
    if frame.schema[figure.x].is_numeric():
        frame = frame.with_columns(pl.col(figure.x).cast(pl.Float64)).filter(pl.col(figure.x).is_finite())
        frame = frame.sort(figure.x, maintain_order=True)
    else:
        frame = frame.with_columns(_label(frame, figure.x, f"figure {figure.id}: x"))
    series = {getattr(figure, key): key for key in ("facet", "color") if getattr(figure, key)}
    return frame.with_columns(_label(frame, column, f"figure {figure.id}: {key}") for column, key in series.items())


def _label(frame: pl.DataFrame, column: str, where: str) -> pl.Expr:
    """A column as labels: text without the characters no drawing can contain, numbers with their unit."""
    kind = frame.schema[column]
    if not (kind.is_numeric() or kind.is_temporal() or kind in LABELS):
        raise StudyError(f"{where}: {column!r} is neither a number nor a text; CAST or format it in the query")
    if kind.is_float():
        return pl.col(column).map_elements(unit_of(column).text, return_dtype=pl.String).fill_null("–")
    return pl.col(column).cast(pl.String).str.replace_all(UNDRAWN, " ").fill_null("–")


def interval95(frame: pl.DataFrame, keys: list[str], y: str) -> pl.DataFrame:
    """Mean of `y` over each group, with the two-sided 95 % Student t-interval of that mean.

    Columns: the keys, `y` (the mean), `low`, `high`, `n`. One value has no spread: low and high
    are then the value itself.
    """
    groups = frame.group_by(keys, maintain_order=True).agg(
        pl.col(y).mean(), pl.col(y).std(ddof=1).alias("deviation"), pl.col(y).len().alias("n")
    )
    half = [half_width(deviation or 0.0, n) for deviation, n in groups.select("deviation", "n").iter_rows()]
    spread = pl.Series("half", half, dtype=pl.Float64)
    return groups.with_columns(low=pl.col(y) - spread, high=pl.col(y) + spread).drop("deviation")


def bounded(frame: pl.DataFrame, y: str) -> pl.DataFrame:
    """The rows with the intervals of a fraction clipped to [0, 1], bounds that Student's interval ignores."""
    return frame.with_columns(pl.col("low", "high").clip(0.0, 1.0)) if y in FRACTIONS else frame


def half_width(deviation: float, n: int) -> float:
    """Half the width of the 95 % t-interval of a mean of `n` values of this sample deviation."""
    if n < 2:
        return 0.0
    return t_quantile(n - 1, CONFIDENCE) * deviation / math.sqrt(n)


def boxes(frame: pl.DataFrame, keys: list[str], y: str) -> Rows:
    """Tukey's box plot: quartiles, whiskers to the last value within 1.5 box lengths, outliers beyond."""
    quartile = {"q1": 0.25, "median": 0.5, "q3": 0.75}
    summary = frame.group_by(keys, maintain_order=True).agg(
        *(pl.col(y).quantile(q, "linear").alias(name) for name, q in quartile.items()),
        pl.len().alias("n"),
    )
    joined = frame.join(summary, on=keys, nulls_equal=True, maintain_order="left")
    reach = 1.5 * (pl.col("q3") - pl.col("q1"))
    inside = pl.col(y).is_between(pl.col("q1") - reach, pl.col("q3") + reach)
    whiskers = (
        joined.filter(inside)
        .group_by(keys, maintain_order=True)
        .agg(pl.col(y).min().alias("low"), pl.col(y).max().alias("high"))
    )
    table = summary.join(whiskers, on=keys, nulls_equal=True, maintain_order="left")
    outliers = joined.filter(~inside).select(*keys, y).head(CAP)
    return Rows(table.with_columns(pl.col("median").alias(y)), interval=True, outliers=outliers)


def distribution(frame: pl.DataFrame, figure: Figure, words: Words) -> Rows:
    """The empirical distribution of `x` in each series: the share of values up to each, in the column `y`."""
    series = list(dict.fromkeys(c for c in (figure.color, figure.facet) if c))
    x, y = figure.x, figure.y
    if frame.is_empty():
        return Rows(frame.select(*series, x, y))
    counted = frame.group_by([*series, x], maintain_order=True).agg(pl.len().alias("_count")).sort(*series, x)
    share = pl.col("_count").cum_sum() / pl.col("_count").sum()
    every = counted.with_columns((share.over(series) if series else share).alias(y))
    # Each curve starts from zero at its smallest value.
    first = (every.group_by(series, maintain_order=True).first() if series else every.head(1)).with_columns(
        pl.lit(0.0).alias(y)
    )
    steps = pl.concat([first.select(every.columns), every]).sort(*series, x, y).drop("_count")
    drawn = thin(steps, series, y)
    return Rows(drawn, note=_note(drawn.height, steps.height, words))


def thin(frame: pl.DataFrame, series: list[str], y: str, cap: int = CAP) -> pl.DataFrame:
    """Thin rows to about `cap` at most, keeping the lowest and the highest `y` of equal slices of each series.

    No peak or trough is lost. The rows of a series must be in order; up to `cap` rows are returned unchanged.
    """
    if frame.height <= cap:
        return frame
    kinds = frame.select(series).n_unique() if series else 1
    slices = max(cap // (2 * kinds), 1)
    numbered = pl.int_range(pl.len()) * slices // pl.len()
    rows = frame.with_row_index("_row").with_columns(_slice=numbered.over(series) if series else numbered)
    groups = rows.group_by([*series, "_slice"], maintain_order=True)
    kept = groups.agg(
        pl.col("_row").get(pl.col(y).arg_min()).alias("lowest"),
        pl.col("_row").get(pl.col(y).arg_max()).alias("highest"),
    )
    chosen = pl.concat([kept["lowest"], kept["highest"]]).unique().sort()
    return frame[chosen.to_list()]


def _note(drawn: int, all_rows: int, words: Words) -> str:
    if drawn == all_rows:
        return ""
    return words.say("figure.thinned", drawn=words.number(f"{drawn:,}"), all=words.number(f"{all_rows:,}"))


def translated(rows: Rows, columns: Iterable[str], words: Words) -> Rows:
    """The rows with the labels of these columns in the language of `words`."""

    def labelled(frame: pl.DataFrame) -> pl.DataFrame:
        texts = [name for name in dict.fromkeys(columns) if name in frame.columns and frame.schema[name] == pl.String]
        every = {name: frame[name].drop_nulls().unique().to_list() for name in texts}
        new = {name: [words.label(label) for label in labels] for name, labels in every.items()}
        return frame.with_columns(pl.col(name).replace(every[name], new[name]) for name in texts)

    outliers, reported = labelled(rows.outliers), labelled(rows.reported)
    measured = {name: labelled(made) for name, made in rows.measured.items()}
    return replace(rows, frame=labelled(rows.frame), outliers=outliers, reported=reported, measured=measured)
