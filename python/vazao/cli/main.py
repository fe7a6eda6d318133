"""The command `vazao`. Exit codes: 0 done, 1 a run failed, 2 the input is wrong, 130 interrupted, 143 terminated."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated

import typer

from vazao import _core, scenario, store
from vazao.cli import (
    again,
    catalogue,
    check,
    compare,
    completion,
    doctor,
    examples,
    explore,
    kernel,
    pages,
    questions,
    read,
    run,
    twin,
    upkeep,
    why,
)
from vazao.cli.signals import Terminated
from vazao.cli.texts import clean
from vazao.errors import RunError, VazaoError
from vazao.files import in_words

app = typer.Typer(
    help="A laboratory for transport protocols: run scenarios and published studies, and ask their results.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: dict[str, Callable[..., None]] = {
    "run": run.run,
    "compare": compare.compare,
    "why": why.why,
    "read": read.read,
    "twin": twin.twin,
    "view": pages.view,
    "play": pages.play,
    "report": questions.report,
    "show": questions.show,
    "sql": questions.sql,
    "explore": explore.explore,
    "merge": upkeep.merge,
    "gc": upkeep.gc,
    "verify": again.verify,
    "check": check.check,
    "list": catalogue.list_,
    "explain": catalogue.explain,
    "new": catalogue.new,
    "doctor": doctor.doctor,
    "completion": completion.completion,
}
"""All commands, in the order of the help."""

for name, command in COMMANDS.items():
    app.command(name, epilog=examples.epilog(name))(command)
app.add_typer(kernel.app, name="kernel")


def main() -> None:
    """Run the command line; every error ends in one clear message and an exit code."""
    # OpenBLAS, which nothing here needs, would start a thread on each core that busy-waits beside the simulations.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    completion.answer(app)
    # With `python -m`, the working directory comes first on the path: a `colorsys.py` there may be untrusted.
    sys.path[:] = scenario.installed()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except Terminated:
        _fail("terminated; finished runs of a study are kept, and the same command goes on from there", 143)
    except RunError as error:
        _fail(str(error), 1)
    except VazaoError as error:
        _fail(str(error), 2)
    except BrokenPipeError:
        # The reader (`| head`) has closed the pipe: nothing can be written any more, not even while Python exits.
        _drop_output()
        raise SystemExit(1) from None
    except OSError as error:
        _drop_output()
        _fail(f"{error.filename or 'the output'}: {in_words(error)}", 1)
    except Exception as error:
        if os.environ.get("VAZAO_TRACEBACK"):
            traceback.print_exc()
        kind = type(error).__name__
        _fail(f"this is a defect of Vazão ({kind}: {error}); VAZAO_TRACEBACK=1 shows where", 1)


def _drop_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int) -> None:
    print(f"error: {clean(message)}", file=sys.stderr)
    raise SystemExit(code)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"vazao {store.__version__} (engine {_core.ENGINE_VERSION})")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print versions and exit.")
    ] = False,
) -> None:
    pass
