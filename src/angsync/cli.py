"""The command line: parse, call, print; no logic.

Exit codes: 0 solved and certified; 1 solved, not certified or not converged (the answer is still written);
2 the input or the call is wrong (one message, no traceback, no output file); 130 interrupted (the best answer
so far is written).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from angsync.errors import AngsyncError, AngsyncWarning, InputError

app = typer.Typer(
    name="angsync",
    help="Phase (angular) synchronization with a proof of optimality on every answer.\n\n"
    "Exit codes: 0 solved and certified, 1 not certified or not converged, 2 wrong input or call, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=False,
)


class SolverName(StrEnum):
    """Solvers by name."""

    auto = "auto"
    gpm = "gpm"
    newton = "newton"


class StartName(StrEnum):
    """Starting points by name."""

    auto = "auto"
    eigenvector = "eigenvector"
    spanning_tree = "spanning_tree"
    random = "random"


class Weights(StrEnum):
    """Weights of a g2o file."""

    kappa = "kappa"
    unit = "unit"


class Method(StrEnum):
    """Proofs."""

    auto = "auto"
    cholesky = "cholesky"
    lanczos = "lanczos"


class Model(StrEnum):
    """Simulated problems."""

    gaussian = "gaussian"
    phase_noise = "phase_noise"
    outliers = "outliers"
    erdos_renyi = "erdos_renyi"
    grid = "grid"
    ring = "ring"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random; the same seed gives the same answer.")]
ColumnI = Annotated[str, typer.Option("--column-i", help="Column of the first node (csv, parquet).")]
ColumnJ = Annotated[str, typer.Option("--column-j", help="Column of the second node.")]
ColumnAngle = Annotated[str, typer.Option("--column-angle", help="Column of the angle theta_i - theta_j, radians.")]
ColumnWeight = Annotated[
    str | None,
    typer.Option("--column-weight", help="Column of the weight ('weight' is used where there is one)."),
]
G2oWeights = Annotated[Weights, typer.Option("--weights", help="Weights of a g2o file.")]


@contextmanager
def _reporting() -> Iterator[Console]:
    """Errors become one message and exit code 2; warnings become lines on standard error."""
    console = Console(stderr=True)

    def show(message: Any, *_: Any, **__: Any) -> None:
        console.print(f"warning: {message}", style="yellow", markup=False, highlight=False, soft_wrap=True)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AngsyncWarning)
            warnings.showwarning = show
            yield console
    except (AngsyncError, OSError, MemoryError) as error:
        text = str(error) or type(error).__name__
        console.print(f"error: {text}", style="bold red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        console.print("interrupted", style="yellow")
        raise typer.Exit(130) from None


def _exit_code(result: Any) -> int:
    from angsync.certificate import Verdict
    from angsync.iteration import Status

    if result.status is Status.INTERRUPTED:
        return 130
    certified = result.certificate is not None and result.certificate.verdict is Verdict.CERTIFIED
    return 0 if certified and result.converged else 1


@app.command()
def demo(
    n: Annotated[int, typer.Option(help="Number of nodes.", min=2)] = 300,
    sigma: Annotated[float | None, typer.Option(help="Noise of the paper's model; 0.2 sqrt(n) unless given.")] = None,
    seed: Seed = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for report.html.")] = Path("angsync-demo"),
    json: Json = False,
) -> None:
    """Simulate the paper's setting, solve, certify, compare with the truth, and write report.html."""
    with _reporting() as console:
        from angsync.demo import run_demo
        from angsync.errors import OutputError
        from angsync.io.atomic import check_writable
        from angsync.report.words import certificate_in_words
        from angsync.terminal import result_object, table, to_json, watching

        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot create the folder {output}: {error.strerror}. Choose another with -o.") from None
        page = check_writable(output / "report.html")
        with watching(console, "demo") as callback:
            shown = run_demo(n, sigma, seed=seed, callback=callback)
        rows = shown.rows()
        shown.result.to_html(page, title="angsync demo", rows=rows, truth=shown.problem.z)
        if json:
            extra = {"squared_error": shown.error, "squared_error_eigenvector": shown.eigenvector_error}
            content = {
                **result_object(shown.result, with_phases=False),
                **extra,
                "cramer_rao": shown.cramer_rao,
            }
            typer.echo(to_json({**content, "report": str(page)}))
        else:
            screen = Console()
            screen.print(table("Phases from noisy relative phases", rows))
            screen.print()
            screen.print(certificate_in_words(shown.result.certificate), markup=False, highlight=False)
            screen.print(f"\nThe report is in {page}", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(_exit_code(shown.result))


@app.command()
def solve(
    file: Annotated[Path, typer.Argument(help="csv, parquet, npz, npy, mat, hdf5 or g2o.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the result here (npz or csv).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    solver: Annotated[SolverName, typer.Option(help="auto chooses, and says what and why.")] = SolverName.auto,
    alpha: Annotated[float, typer.Option(help="Step size of --solver gpm; inf is allowed.")] = 4.0,
    start: Annotated[StartName, typer.Option(help="Starting point.")] = StartName.auto,
    gauge: Annotated[str, typer.Option(help="first, mean, or the name of a node.")] = "first",
    tolerance: Annotated[float | None, typer.Option(help="For the residual; 1e-10 (1e-5 in single).")] = None,
    max_iterations: Annotated[int, typer.Option(help="Limit of solver steps.")] = 10_000,
    max_seconds: Annotated[float | None, typer.Option(help="Limit of wall time.")] = None,
    certify: Annotated[bool, typer.Option(help="Prove optimality; without it the exit code is 1.")] = True,
    hermitian: Annotated[str, typer.Option(help="full, upper or lower: which part of a matrix is read.")] = "full",
    column_i: ColumnI = "i",
    column_j: ColumnJ = "j",
    column_angle: ColumnAngle = "angle",
    column_weight: ColumnWeight = None,
    weights: G2oWeights = Weights.kappa,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Find the phases that fit the measurements in FILE best, and prove how good they are."""
    with _reporting() as console:
        from angsync.io import read
        from angsync.io.atomic import check_writable
        from angsync.io.result_file import check_result_path
        from angsync.iteration import Stopping
        from angsync.pipeline import synchronize
        from angsync.terminal import result_object, to_json, watching

        # outputs are checked before the work, not after
        if output is not None:
            check_result_path(output)
        if report is not None:
            check_writable(report)
        stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)
        data = read(file, i=column_i, j=column_j, angle=column_angle, weight=column_weight, weights=weights.value)
        with watching(console, "solving", tolerance or 1e-10) as callback:
            result = synchronize(
                data,
                solver=_solver(solver, alpha),
                start=start.value,
                stopping=stopping,
                certify=certify,
                gauge=_gauge(gauge, data),
                callback=callback,
                rng=seed,
                hermitian=hermitian,  # type: ignore[arg-type]  # checked there
            )
        if output is not None:
            result.save(output)
        if report is not None:
            result.to_html(report, title=f"angsync: {file.name}")
        if json:
            typer.echo(to_json(result_object(result, with_phases=output is None)))
        else:
            typer.echo(str(result))
            for what, path in (("phases", output), ("report", report)):
                if path is not None:
                    typer.echo(f"  {what:<12} written to {path}")
        raise typer.Exit(_exit_code(result))


def _solver(name: SolverName, alpha: float) -> Any:
    from angsync.solvers import GPM, Newton

    makers: dict[SolverName, Callable[[], Any]] = {
        SolverName.auto: lambda: "auto",
        SolverName.gpm: lambda: GPM(alpha=alpha),
        SolverName.newton: Newton,
    }
    return makers[name]()


def _gauge(text: str, data: Any) -> str | int:
    """A node given as text: a label where there are labels, otherwise an index."""
    if text in ("first", "mean"):
        return text
    labels = getattr(data, "labels", None)
    if labels is not None and text in labels:
        return text
    try:
        return int(text)
    except ValueError:
        raise InputError(f"gauge must be first, mean or a node, but {text!r} is not a node.") from None


@app.command()
def certify(
    file: Annotated[Path, typer.Argument(help="The measurements: csv, parquet, npz, npy, mat, hdf5 or g2o.")],
    phases: Annotated[Path, typer.Argument(help="A saved result, or npy / npz / csv with phases or angles.")],
    tolerance: Annotated[float, typer.Option(help="CERTIFIED means a relative gap of at most this.")] = 1e-8,
    method: Annotated[
        Method, typer.Option(help="The proof: deterministic or with a failure probability.")
    ] = Method.auto,
    column_i: ColumnI = "i",
    column_j: ColumnJ = "j",
    column_angle: ColumnAngle = "angle",
    column_weight: ColumnWeight = None,
    weights: G2oWeights = Weights.kappa,
    json: Json = False,
) -> None:
    """Check anybody's phases: how far can they be from the best fit? Exit code 0 only if CERTIFIED."""
    with _reporting() as console:
        from angsync.certificate import Verdict
        from angsync.certificate import certify as certify_phases
        from angsync.io import read, read_phases
        from angsync.phases import in_order_of
        from angsync.report.words import certificate_in_words
        from angsync.terminal import certificate_object, to_json, watching

        data = read(file, i=column_i, j=column_j, angle=column_angle, weight=column_weight, weights=weights.value)
        z = in_order_of(data, *read_phases(phases))
        with watching(console, "certifying"):
            certificate = certify_phases(data, z, tolerance, method.value)
        if json:
            typer.echo(to_json(certificate_object(certificate)))
        else:
            typer.echo(f"{certificate}\n{certificate_in_words(certificate)}")
        raise typer.Exit(0 if certificate.verdict is Verdict.CERTIFIED else 1)


@app.command()
def simulate(
    model: Annotated[Model, typer.Argument(help="Which problem.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="csv, npz or parquet (edges); npz or npy (gaussian).")],
    n: Annotated[int, typer.Option(help="Number of nodes.")] = 100,
    sigma: Annotated[float, typer.Option(help="Noise: of the paper's W for gaussian, radians otherwise.")] = 0.1,
    probability: Annotated[
        float,
        typer.Option("--probability", "-p", help="Of an edge (erdos_renyi), or of a good edge (outliers)."),
    ] = 0.5,
    rows: Annotated[int, typer.Option(help="Rows of the grid.")] = 10,
    columns: Annotated[int, typer.Option(help="Columns of the grid.")] = 10,
    law: Annotated[str, typer.Option(help="wrapped_normal or von_mises (phase_noise).")] = "wrapped_normal",
    holonomy: Annotated[float | None, typer.Option(help="Total angle around the ring, radians.")] = None,
    seed: Seed = 0,
) -> None:
    """Write a simulated problem with its truth (npz), for `angsync solve`."""
    with _reporting():
        from angsync.scenario import from_name, write_problem

        problem = from_name(
            model.value, n=n, sigma=sigma, probability=probability, rows=rows, columns=columns, law=law,
            holonomy=holonomy, rng=seed,
        )  # fmt: skip
        write_problem(problem, output)
        typer.echo(f"{model.value}: {problem.z.size} nodes, written to {output}")


@app.command()
def info(json: Json = False) -> None:
    """Versions, threads, devices, and which optional libraries are installed."""
    with _reporting():
        from angsync.environment import describe
        from angsync.terminal import table, to_json

        facts = describe()
        if json:
            typer.echo(to_json(facts))
        else:
            Console().print(table("angsync", [(key, str(value)) for key, value in facts.items()]))


def main() -> None:
    """Entry point of the ``angsync`` command."""
    app()


if __name__ == "__main__":
    main()
