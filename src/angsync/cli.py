"""The command line: parse, call, print; no logic.

Exit codes: 0 solved and certified; 1 solved, not certified or not converged (the answer is still written);
2 the input or the call is wrong (one message, no traceback, no output file); 130 interrupted (the best answer
so far is written).
"""

from __future__ import annotations

import os
import sys
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
    context_settings={"help_option_names": ["-h", "--help"]},
)


class SolverName(StrEnum):
    """Solvers by name."""

    auto = "auto"
    gpm = "gpm"
    newton = "newton"
    sdp = "sdp"


class StartName(StrEnum):
    """Starting points by name."""

    auto = "auto"
    eigenvector = "eigenvector"
    spanning_tree = "spanning_tree"
    random = "random"


class Triangle(StrEnum):
    """Which part of a matrix is read."""

    FULL = "full"
    UPPER = "upper"
    LOWER = "lower"


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


class Law(StrEnum):
    """Laws of the angle noise."""

    wrapped_normal = "wrapped_normal"
    von_mises = "von_mises"


Problem = Annotated[
    Path, typer.Argument(metavar="FILE", help="The measurements: csv, parquet, npz, npy, mat, hdf5 or g2o.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random; the same seed gives the same answer.", min=0)]
Hermitian = Annotated[Triangle, typer.Option(help="Which part of a matrix is read; the whole must be Hermitian.")]
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

    def say(text: str, style: str) -> None:
        from angsync.terminal import fitted

        console.print(fitted(text, console), style=style, markup=False, highlight=False, soft_wrap=True)

    def show(message: Any, *_: Any, **__: Any) -> None:
        say(f"warning: {message}", "yellow")

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AngsyncWarning)
            warnings.showwarning = show
            yield console
    except BrokenPipeError:
        raise  # whoever reads standard output has seen enough; that is no wrong input
    except (AngsyncError, OSError, MemoryError) as error:
        say(f"error: {str(error) or type(error).__name__}", "bold red")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        say("interrupted", "yellow")
        raise typer.Exit(130) from None


def _exit_code(result: Any) -> int:
    from angsync.certificate import Verdict
    from angsync.iteration import Status

    if result.status is Status.INTERRUPTED:
        return 130
    certified = result.certificate is not None and result.certificate.verdict is Verdict.CERTIFIED
    return 0 if certified and result.converged else 1


def _version(wanted: bool) -> None:
    if wanted:
        from angsync.environment import version_of

        typer.echo(f"angsync {version_of('angsync')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


@app.command(short_help="Simulate, solve, certify; write report.html. No input.")
def demo(
    n: Annotated[int, typer.Option(help="Number of nodes.", min=2)] = 300,
    sigma: Annotated[float | None, typer.Option(help="Noise of the paper's model; 0.2 sqrt(n) unless given.")] = None,
    seed: Seed = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for report.html.")] = Path("angsync-demo"),
    json: Json = False,
) -> None:
    """Simulate the paper's setting, solve, certify, compare with the truth, and write report.html."""
    with _reporting() as console:
        from angsync.demo import report_folder, run_demo
        from angsync.io.atomic import check_writable
        from angsync.report.words import certificate_in_words
        from angsync.terminal import fitted, result_object, table, to_json, watching

        with report_folder(output), watching(console, "demo") as callback:
            page = check_writable(output / "report.html")
            shown = run_demo(n, sigma, seed=seed, callback=callback)
            shown.result.to_html(page, title="angsync demo", rows=shown.page_rows(), truth=shown.problem.z)
        if json:
            typer.echo(
                to_json({**result_object(shown.result, with_phases=False), **shown.numbers(), "report": str(page)})
            )
        else:
            Console().print(table("Phases from noisy relative phases", shown.rows()))
            typer.echo(fitted(f"\n{certificate_in_words(shown.result.certificate)}\n\nThe report is in {page}"))
        raise typer.Exit(_exit_code(shown.result))


@app.command(short_help="Find the phases that fit FILE best, with a proof.")
def solve(
    file: Problem,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the result here (npz or csv).")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report here.")] = None,
    solver: Annotated[SolverName, typer.Option(help="auto chooses, and says what and why.")] = SolverName.auto,
    alpha: Annotated[float | None, typer.Option(help="Step size of --solver gpm: 4 unless given; may be inf.")] = None,
    start: Annotated[StartName, typer.Option(help="Starting point.")] = StartName.auto,
    gauge: Annotated[str, typer.Option(help="first, mean, or the name of a node.")] = "first",
    tolerance: Annotated[float | None, typer.Option(help="For the residual; 1e-10 (1e-5 in single).")] = None,
    max_iterations: Annotated[int, typer.Option(help="Limit of solver steps.")] = 10_000,
    max_seconds: Annotated[float | None, typer.Option(help="Limit of wall time.")] = None,
    certify: Annotated[bool, typer.Option(help="Prove optimality; without it the exit code is 1.")] = True,
    standard_errors: Annotated[
        bool, typer.Option("--standard-errors", help="Add the standard error of every phase, in radians.")
    ] = False,
    sigma: Annotated[
        float | None,
        typer.Option(help="For the standard errors: weight w means variance sigma^2/w; estimated unless given.", min=0),
    ] = None,
    hermitian: Hermitian = Triangle.FULL,
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
        from angsync.phases import gauge_from_text
        from angsync.pipeline import synchronize
        from angsync.terminal import fitted, result_object, to_json, watching

        # the call and the outputs are checked before the work, not after
        _check_distinct(file, output, report)
        if output is not None:
            check_result_path(output)
        if report is not None:
            check_writable(report)
        method = _solver(solver, alpha)
        stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations, max_seconds=max_seconds)
        with watching(console, "reading"):
            data = read(file, i=column_i, j=column_j, angle=column_angle, weight=column_weight, weights=weights.value)
        with watching(console, "solving", tolerance or 1e-10) as callback:
            result = synchronize(
                data,
                solver=method,
                start=start.value,
                stopping=stopping,
                certify=certify,
                gauge=gauge_from_text(gauge, data),
                callback=callback,
                rng=seed,
                hermitian=hermitian.value,
            )
        with watching(console, "writing"):
            errors = _errors_or_warning(result, sigma) if standard_errors else None
            if output is not None:
                result.save(output, standard_errors=errors)
            if report is not None:
                result.to_html(report, title=f"angsync: {file.name}")
        if json:
            typer.echo(to_json(result_object(result, with_phases=output is None, standard_errors=errors)))
        else:
            written = [(what, path) for what, path in (("phases", output), ("report", report)) if path is not None]
            lines = [str(result), *(f"  {what:<12} written to {path}" for what, path in written)]
            typer.echo(fitted("\n".join(lines)))
        raise typer.Exit(_exit_code(result))


def _errors_or_warning(result: Any, sigma: float | None) -> Any:
    """The standard errors, or None and a warning: the phases are not lost because their errors are not known."""
    try:
        return result.standard_errors(sigma)
    except InputError as error:
        warnings.warn(f"no standard errors: {error} (--sigma)", AngsyncWarning, stacklevel=2)
        return None


def _check_distinct(file: Path, *outputs: Path | None) -> None:
    """An output replaces neither the input nor another output."""
    seen = {file.resolve()}
    for path in outputs:
        if path is not None and path.resolve() in seen:
            raise InputError(f"{path} is named twice: one file would replace the other. Choose another name.")
        seen |= {path.resolve()} if path is not None else set()


def _solver(name: SolverName, alpha: float | None) -> Any:
    from angsync.solvers import GPM, LowRankSDP, Newton

    if alpha is not None and name is not SolverName.gpm:
        raise InputError(f"--alpha is the step size of --solver gpm, but the solver is {name.value}.")
    makers: dict[SolverName, Callable[[], Any]] = {
        SolverName.auto: lambda: "auto",
        SolverName.gpm: lambda: GPM() if alpha is None else GPM(alpha=alpha),
        SolverName.newton: Newton,
        SolverName.sdp: LowRankSDP,
    }
    return makers[name]()


@app.command(short_help="Check anybody's PHASES for FILE.")
def certify(
    file: Problem,
    phases: Annotated[
        Path, typer.Argument(metavar="PHASES", help="A saved result, or npy / npz / csv with phases or angles.")
    ],
    tolerance: Annotated[float, typer.Option(help="CERTIFIED means a relative gap of at most this.")] = 1e-8,
    method: Annotated[
        Method, typer.Option(help="The proof: deterministic or with a failure probability.")
    ] = Method.auto,
    hermitian: Hermitian = Triangle.FULL,
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
        from angsync.operators import as_operator
        from angsync.phases import in_order_of
        from angsync.report.words import certificate_in_words
        from angsync.terminal import certificate_object, count_components, fitted, to_json, watching

        with watching(console, "reading"):
            data = read(file, i=column_i, j=column_j, angle=column_angle, weight=column_weight, weights=weights.value)
            operator = as_operator(data, hermitian.value)
            z = in_order_of(data, *read_phases(phases))
        with watching(console, "certifying"):
            certificate = certify_phases(operator, z, tolerance, method.value)
        if json:
            typer.echo(to_json(certificate_object(certificate)))
        else:
            words = certificate_in_words(certificate, components=count_components(operator))
            typer.echo(fitted(f"{certificate}\n{words}"))
        raise typer.Exit(0 if certificate.verdict is Verdict.CERTIFIED else 1)


@app.command(short_help="Write a simulated problem.")
def simulate(
    model: Annotated[Model, typer.Argument(metavar="MODEL", help=f"Which problem: {', '.join(Model)}.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="csv, npz or parquet (edges); npz or npy (gaussian).")],
    n: Annotated[int | None, typer.Option(help="Number of nodes (not for grid): 100 unless given.", min=1)] = None,
    sigma: Annotated[
        float | None, typer.Option(help="Noise, of the paper's W for gaussian, radians otherwise: 0.1 unless given.")
    ] = None,
    probability: Annotated[
        float | None,
        typer.Option(
            "--probability", "-p", help="Of an edge (erdos_renyi) or of a good edge (outliers): 0.5 unless given."
        ),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="Rows of the grid: 10 unless given.", min=1)] = None,
    columns: Annotated[int | None, typer.Option(help="Columns of the grid: 10 unless given.", min=1)] = None,
    law: Annotated[
        Law | None, typer.Option(help="Of phase_noise and erdos_renyi: wrapped_normal unless given.")
    ] = None,
    holonomy: Annotated[float | None, typer.Option(help="Total angle around the ring, radians.")] = None,
    seed: Seed = 0,
) -> None:
    """Write a simulated problem with its truth, for `angsync solve`."""
    with _reporting() as console:
        from angsync.scenario import from_name, problem_path, write_problem
        from angsync.terminal import watching

        problem_path(model.value, output)
        options = {
            "n": n, "sigma": sigma, "probability": probability, "rows": rows, "columns": columns,
            "law": None if law is None else law.value, "holonomy": holonomy,
        }  # fmt: skip
        given = {name: value for name, value in options.items() if value is not None}
        with watching(console, "simulating"):
            problem = from_name(model.value, given, rng=seed)
            write_problem(problem, output)
        typer.echo(f"{model.value}: {problem.n} nodes, written to {output}")


def _one_thread_a_product() -> None:
    """Small matrices: threads cost ten times what they give. Heeded until NumPy is loaded; a value given wins."""
    for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(variable, "1")


@app.command(short_help="Measure the paper's claims; write report.html.")
def reproduce(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer cases: two minutes at most, not twenty.")] = False,
    seed: Seed = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for results.json and report.html.")] = Path(
        "angsync-reproduce"
    ),
    json: Json = False,
) -> None:
    """Measure every numbered statement of the paper by simulation: one line each, held or VIOLATED.

    An interrupted run goes on where it stopped: results.json keeps what is finished. Exit code 1 if a row is violated.
    """
    _one_thread_a_product()
    with _reporting() as console:
        from angsync.demo import report_folder
        from angsync.io.atomic import check_writable
        from angsync.reproduce import lines, run_experiments, violated
        from angsync.reproduce.page import write_reproduction_page
        from angsync.reproduce.progress import showing
        from angsync.terminal import to_json

        with report_folder(output):
            stored, page = check_writable(output / "results.json"), check_writable(output / "report.html")
            with showing(console) as report:
                results = run_experiments(stored, quick=quick, seed=seed, report=report)
            write_reproduction_page(results, page)
        failed = violated(results)
        if json:
            typer.echo(to_json({**results, "violated": failed, "results": str(stored), "report": str(page)}))
        else:
            summary = f"VIOLATED: {', '.join(failed)}" if failed else "every row held"
            typer.echo("\n".join([*lines(results), *results["notes"], f"\n{summary}. The report is in {page}"]))
        raise typer.Exit(1 if failed else 0)


@app.command(short_help="Versions, threads, devices.")
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
    # a name that the terminal's encoding does not know shall not end in an error after the work
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    app()


if __name__ == "__main__":
    main()
