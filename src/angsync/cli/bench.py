"""``angsync bench``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from angsync.cli import options
from angsync.cli.outcome import reporting, show, writing
from angsync.cli.root import app


@app.command(short_help="Time angsync beside other methods on this machine.")
def bench(
    names: options.Groups = None,
    peers: Annotated[
        bool, typer.Option("--peers", help="Compare with other libraries too, where installed; says which are missing.")
    ] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller problems: minutes, not half an hour.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write every figure here (json).")] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Timed calls of each method: 5, or 3 with --quick, unless given.", min=1)
    ] = None,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Solve the same problems with angsync and with other methods, taking turns, and print one table a group.

    An interrupted run keeps the groups that are finished in --output. Exit code 1 if methods that solve the same
    problem do not reach the same objective.
    """
    with reporting() as console, writing():
        from angsync.cli.progress import counting
        from angsync.io.atomic import check_writable
        from angsync.study.bench.engine import run_groups

        if output is not None:
            check_writable(output)
        screen = _Screen(with_peers=peers, silent=json)
        results = run_groups(
            [name.value for name in names or []],
            quick=quick,
            peers_too=peers,
            repeats=repeats,
            seed=seed,
            path=output,
            watching=lambda: counting(console),
            begun=screen.begun,
            finished=screen.finished,
        )
        wrong = results["disagreements"]
        summary = f"DISAGREE: {'; '.join(wrong)}" if wrong else "methods that solve the same problem agree"
        where = "" if output is None else f" The figures are in {output}"
        show(json, lambda: results, lambda: f"\n{summary}.{where}")
        raise typer.Exit(1 if wrong else 0)


class _Screen:
    """What is printed while the groups run: the machine first, then a table a group; nothing where it is silent."""

    def __init__(self, *, with_peers: bool, silent: bool) -> None:
        self.with_peers, self.silent, self.console = with_peers, silent, Console()

    def begun(self, results: dict[str, Any]) -> None:
        from angsync.cli.terminal import table
        from angsync.study.bench import engine, peers

        if not self.silent:
            self.console.print(table("angsync bench", engine.heading(results)))
            if self.with_peers:
                self.console.print(table("\npeers", peers.table()))

    def finished(self, group: Any, rows: list[Any]) -> None:
        from angsync.study.bench.tables import table

        if not self.silent:
            typer.echo(f"\n{table(group.title, rows, self.console.width)}")
