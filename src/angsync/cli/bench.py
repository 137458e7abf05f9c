"""``angsync bench``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from angsync.cli.options import Json, Seed
from angsync.cli.outcome import reporting
from angsync.cli.root import app


class GroupName(StrEnum):
    """Groups of benchmarks; named here so that the help needs no NumPy."""

    dense = "dense"
    products = "products"
    small = "small"
    batches = "batches"
    growth = "growth"
    bandwidth = "bandwidth"


@app.command(short_help="Time angsync beside other methods on this machine.")
def bench(
    names: Annotated[
        list[GroupName] | None,
        typer.Argument(metavar="NAMES", help=f"Which groups: {', '.join(GroupName)}; all unless given."),
    ] = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Compare with other libraries too, where installed; says which are missing.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller problems: minutes, not half an hour.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write every figure here (json).")] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Timed calls of each method: 5, or 3 with --quick, unless given.", min=1)
    ] = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Solve the same problems with angsync and with other methods, taking turns, and print one table a group.

    An interrupted run keeps the groups that are finished in --output. Exit code 1 if methods that solve the same
    problem do not reach the same objective.
    """
    with reporting() as console:
        from angsync.cli.progress import counting
        from angsync.cli.terminal import fitted, table
        from angsync.io.atomic import check_writable
        from angsync.io.strict_json import to_json
        from angsync.study.bench.engine import heading, run_groups
        from angsync.study.bench.peers import table as peers_table
        from angsync.study.bench.tables import table as bench_table

        if output is not None:
            check_writable(output)
        screen = Console()

        def begun(results: dict[str, Any]) -> None:
            if not json:
                screen.print(table("angsync bench", heading(results)))
                if peers:
                    screen.print(table("\npeers", peers_table()))

        def finished(group: Any, rows: list[Any]) -> None:
            if not json:
                typer.echo(f"\n{bench_table(group.title, rows, screen.width)}")

        results = run_groups(
            [name.value for name in names or []],
            quick=quick,
            peers_too=peers,
            repeats=repeats,
            seed=seed,
            path=output,
            watching=lambda: counting(console),
            begun=begun,
            finished=finished,
        )
        wrong = results["disagreements"]
        if json:
            typer.echo(to_json(results))
        else:
            summary = f"DISAGREE: {'; '.join(wrong)}" if wrong else "methods that solve the same problem agree"
            where = "" if output is None else f" The figures are in {output}"
            typer.echo(fitted(f"\n{summary}.{where}"))
        raise typer.Exit(1 if wrong else 0)
