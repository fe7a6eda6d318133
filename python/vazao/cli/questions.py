"""`vazao report`, `show` and `sql`: reports and queries of stored results."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vazao import figures, report as reports, results, store, study
from vazao.cli.explore import Browser, Port, check, serve
from vazao.cli.options import AsJson, Directory, Lang
from vazao.cli.texts import clean, say
from vazao.errors import ResultsError
from vazao.files import explained

if TYPE_CHECKING:
    import polars as pl

    from vazao.results import Campaign


def report(
    directory: Directory,
    lang: Lang = None,
    served: Annotated[
        bool, typer.Option("--serve", help="Serve the report on this machine, beside the explorer; writes nothing.")
    ] = False,
    port: Port = 0,
    browser: Browser = True,
    as_json: AsJson = False,
) -> None:
    """Rebuild the figures (SVG, PDF, PNG) and report.html from stored results; or serve the report."""
    if served:
        _serve(directory, lang, port=port, browser=browser, as_json=as_json)
        return
    if port or not browser:
        raise ResultsError(f"{'--port' if port else '--no-browser'}: goes with --serve")
    done = results.open_campaign(directory, lang=lang)
    done.write_ledger()
    page = publish(done, anew=True)
    print(json.dumps({"report": str(page)}) if as_json else page)


def _serve(directory: str, lang: str | None, *, port: int, browser: bool, as_json: bool) -> None:
    check("report --serve")
    from vazao.explore import EXPLORER

    done = results.open_campaign(directory, lang=lang)
    page = reports.html(done.study, done.store, done.findings, done.measurements, explorer=EXPLORER)
    serve([directory], port=port, browser=browser, as_json=as_json, front=page)


def show(directory: Directory, lang: Lang = None, as_json: AsJson = False) -> None:
    """Show the findings ledger and summary tables."""
    stored = store.Store(directory)
    if stored.manifest["kind"] == "scenario":
        _show_scenario(stored, as_json)
        return
    done = results.open_campaign(directory, lang=lang)
    if as_json:
        _write_json(done)
        return
    from vazao.cli import rendering
    from vazao.cli.terminal import out

    words = done.study.words
    size = words.of("size", stored.manifest["size"])
    out.print(done.study.title)
    out.print(words.say("terminal.of_runs", runs=done.runs.height, all=stored.manifest["runs"], size=size))
    if done.not_run.height:
        out.print(study.not_run_message(study.reasons(done.not_run), words))
    if done.study.findings:
        out.print()
        rendering.show_findings(done.findings, words, explained=True, measurements=done.measurements)
    elif done.study.question:
        out.print(done.study.question, soft_wrap=True)
    rendering.show_tables(((one.title, done.table(one.id)) for one in done.study.tables), words)
    rendering.show_summary(done.runs, {part.name: part.factor_names for part in done.study.parts}, words)


def _show_scenario(stored: store.Store, as_json: bool) -> None:
    """Show the stored run of a scenario. Raises `ResultsError` if there is none."""
    tables = {name: stored.read(name) for name in ("runs", "flows", "paths", "links")}
    if not tables["runs"].height:
        raise ResultsError(f"{stored.directory}: holds no finished run")
    if as_json:
        from vazao.cli.json_tables import write_run

        write_run(tables)
        return
    from vazao.cli import rendering

    rendering.show_run(stored.manifest["name"], tables["runs"]["run_id"][0], tables)


def _write_json(done: Campaign) -> None:
    """Write a study's ledger, tables and means as one JSON object."""
    from vazao.cli.json_tables import write_object

    words = done.study.words
    summary = {part.name: _means(done, part.name, part.factor_names) for part in done.study.parts}
    write_object(
        {
            "study": done.study.name,
            "title": done.study.title,
            "directory": str(done.directory),
            "size": done.store.manifest["size"],
            "runs": done.runs.height,
            "planned": done.store.manifest["runs"],
            "not_run": study.reasons(done.not_run),
            "findings": [asdict(result) for result in done.findings],
            "measurements": [one.as_data() for one in done.measurements],
            "counted": study.counted(done.findings, words),
        },
        {"tables": {one.id: done.table(one.id) for one in done.study.tables}, "summary": summary},
    )


def _means(done: Campaign, part: str, factors: list[str]) -> pl.DataFrame:
    """The mean utilisation and fairness of each combination of a part."""
    from vazao.cli.rendering import summary

    return summary(done.runs, part, factors)


def sql(
    directory: Directory,
    query: Annotated[str, typer.Argument(metavar="SELECT", help="Tables: runs, flows, paths, links, samples.")],
    as_csv: Annotated[bool, typer.Option("--csv", help="Rows as CSV.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Rows as a JSON array of objects.")] = False,
    file: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Rows as a file: .csv, .parquet, .md or .tex.")
    ] = None,
) -> None:
    """Ask the stored results anything (DuckDB; with ci95(x), greater(d, ci, least), equivalent(d, ci, margin), …)."""
    rows = store.Store(directory).query(query)
    if file is not None:
        say(f"{rows.height} rows: {results.write_table(rows, file)}")
    elif as_csv:
        text = rows.write_csv()
        sys.stdout.write(clean(text) if sys.stdout.isatty() else text)
    elif as_json:
        from vazao.cli.json_tables import write_table

        write_table(rows)
    else:
        _show_rows(rows)


def _show_rows(rows: pl.DataFrame) -> None:
    """Print rows as a table, or one value per line if that is too wide."""
    from vazao.cli import terminal

    if rows.height and terminal.fits(rows):
        terminal.out.print(terminal.table(rows, raw=True))
    else:
        say(terminal.records(rows))


def publish(done: Campaign, *, anew: bool = False) -> Path:
    """Draw the figures and write the report, unless they are up to date; `anew` forces it."""
    product = store.product("report", done.study, done.directory)
    if product.is_there() and not anew:
        return done.directory / reports.PAGE
    with explained(done.directory):
        drawn = figures.render(done.study, done.store, done.directory, done.measurements)
        page = reports.write(done.study, done.store, done.findings, done.directory, done.measurements)
    # Rows may have been added in the meantime.
    if store.product("report", done.study, done.directory) == product:
        product.note([page, *drawn.values()])
    return page
