"""`vazao kernel …`: build, list, use."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vazao import kernel as api
from vazao.cli.examples import epilog
from vazao.cli.options import AsJson
from vazao.units import duration, quantity

if TYPE_CHECKING:
    from vazao.kernel import Kernel

app = typer.Typer(help="Linux kernels for guests: build one, list them, choose one.", no_args_is_help=True)


@app.command("build", epilog=epilog("kernel build"))
def build_(
    series: Annotated[str | None, typer.Argument(metavar="[6.12|6.1]", help="The series (default: 6.12).")] = None,
    source: Annotated[Path | None, typer.Option(metavar="PATH", help="Build this tree; it is only read.")] = None,
    hz: Annotated[int | None, typer.Option(metavar="100|1000", help="Timer interrupts a second.")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Compilers at a time (default: all cores).")] = None,
    force: Annotated[bool, typer.Option("--force", help="Build it although it is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Build Debian's kernel, or any other, for guests; needs no root."""
    from vazao.cli.progress import Steps
    from vazao.cli.terminal import err, out

    if hz not in (None, 100, 1000):
        raise typer.BadParameter(f"{hz} is neither 100 nor 1000", param_hint="--hz")
    began = time.monotonic()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # SIGTERM interrupts a build as Ctrl-C does.
    try:
        if source:
            err.print(f"reading {source}: which tree it is decides whether it is built already")
        done = api.build(series, source=source, hz=hz, jobs=jobs, force=force, progress=Steps())
    except KeyboardInterrupt:
        err.print("interrupted; nothing of it is kept")
        raise typer.Exit(130) from None
    made = done.kernel
    if done.remark:
        err.print(done.remark)
    if as_json:
        print(json.dumps(_facts(made) | {"built": done.built, "took_s": time.monotonic() - began}))
        return
    out.print(f"{'built' if done.built else 'there already:'} Linux {made.release}, {origin(made)}", soft_wrap=True)
    facts = {
        "name": made.name,
        "file": str(made.path),
        "sha256": made.sha256,
        "size": quantity(made.path.stat().st_size, "B"),
        "took": duration(time.monotonic() - began) if done.built else "",
    }
    for fact, text in facts.items():
        if text:
            out.print(f"  {fact:<7} {text}", soft_wrap=True)
    out.print(meaning(made), soft_wrap=True)


def origin(kernel: Kernel) -> str:
    """Description of a kernel's source, its timer frequency, and whether it is unmodified."""
    version = f" {kernel.package_version}" if kernel.package_version else ""
    as_shipped = " as shipped" if kernel.unmodified else ""
    return f"{kernel.source}{version}, HZ {kernel.hz}{as_shipped}"


def meaning(kernel: Kernel) -> str:
    """Message on which kernel the name of this one's series means."""
    if (meant := api.default(kernel.series)) == kernel.name:
        return f"`{kernel.series}` means this kernel."
    return f"`{kernel.series}` means {meant}; choose this one with: vazao kernel use {kernel.name}"


@app.command("list", epilog=epilog("kernel list"))
def list_(as_json: AsJson = False) -> None:
    """List the kernels that are built or chosen, and which of them each series means."""
    kernels, gone = {kernel.name: kernel for kernel in api.kernels()}, []
    gone += [api.missing(kernel.name) for kernel in api.built() if not kernel.current]
    for series in api.selection():
        chosen = api.find(series)
        if chosen:
            kernels[chosen.name] = chosen
        else:
            gone.append(api.missing(series))
    if not kernels and not gone:
        gone.append(api.missing(api.DEFAULT_SERIES))
    if as_json:
        print(json.dumps({"kernels": [_facts(kernel) for kernel in kernels.values()], "missing": gone}))
        return
    import polars as pl

    from vazao.cli.terminal import out, table

    if kernels:
        out.print(table(pl.DataFrame([_row(kernel) for kernel in kernels.values()])))
    for message in gone:
        out.print(message, soft_wrap=True)


def _facts(kernel: Kernel) -> dict[str, Any]:
    """A kernel as data for JSON."""
    means = api.default(kernel.series) == kernel.name
    facts = {"name": kernel.name} | {field.name: getattr(kernel, field.name) for field in fields(kernel)}
    data = {name: value if isinstance(value, str | int | bool | None) else str(value) for name, value in facts.items()}
    return data | {"means": kernel.series if means else None, "size_bytes": kernel.path.stat().st_size}


def _row(kernel: Kernel) -> dict[str, str | int]:
    means = kernel.series if api.default(kernel.series) == kernel.name else ""
    return {
        "means": means,
        "name": kernel.name,
        "release": kernel.release,
        "source": kernel.package_version or kernel.source,
        "HZ": kernel.hz,
        "size_bytes": kernel.path.stat().st_size,
        "sha256": kernel.sha256[:12],
    }


@app.command(epilog=epilog("kernel use"))
def use(
    name: Annotated[str, typer.Argument(metavar="PATH|NAME", help="A User Mode Linux binary, or a name of the list.")],
    as_json: AsJson = False,
) -> None:
    """Choose the kernel that its series means; a series (6.12) forgets the choice."""
    kernel = api.use(name)
    if as_json:
        print(json.dumps({"kernel": kernel and _facts(kernel)}))
        return
    from vazao.cli.terminal import out

    if not kernel:
        out.print(f"nothing is chosen any more; {api.missing(name)}", soft_wrap=True)
        return
    out.print(f"`{kernel.series}` means {kernel.name}: Linux {kernel.release}, {origin(kernel)}", soft_wrap=True)
