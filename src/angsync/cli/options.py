"""Names and options that commands share. Nothing in here loads NumPy: the names come from tables that need none."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from angsync.certificate.bounds import METHODS
from angsync.io.formats import G2O_WEIGHTS, MATRIX_WRITERS, MEASUREMENT_WRITERS, READ, RESULT, in_words
from angsync.problem.units import FULL_TURN
from angsync.simulate.names import LAWS, MODELS
from angsync.solvers.names import SOLVERS
from angsync.solvers.starts.names import OFFERED

INPUT, METHOD, LIMITS, OUTPUT, STORES = "What is read", "How it is solved", "Limits", "What comes out", "Zarr stacks"
"""Titles in the help of one command."""


def _option(panel: str | None, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **settings)


def column(names: str, help: str) -> Any:
    """Return an option that names a column of the file."""
    return typer.Option(names, metavar="NAME", help=help, rich_help_panel="Columns of a table")


# choices out of tables, which a type checker does not read
Solvers = Literal["auto", *SOLVERS]  # type: ignore[valid-type]
Proofs = Literal["auto", *METHODS]  # type: ignore[valid-type]
UnitName = Literal[*FULL_TURN]  # type: ignore[valid-type]
WeightsOfG2o = Literal[*G2O_WEIGHTS]  # type: ignore[valid-type]
Models = Literal[*MODELS]  # type: ignore[valid-type]
Laws = Literal[*LAWS]  # type: ignore[valid-type]
Formats = Literal[*(suffix.removeprefix(".") for suffix in READ)]  # type: ignore[valid-type]

# what is read
_MEASUREMENTS = f"The measurements: {in_words(READ)}."
Problem = Annotated[Path, typer.Argument(metavar="FILE", help=_MEASUREMENTS)]
ProblemOrStack = Annotated[
    Path,
    typer.Argument(metavar="FILE", help=f"{_MEASUREMENTS} A stack of matrices: npy, npz or zarr. - is standard input."),
]
Format = Annotated[
    Formats | None,  # type: ignore[valid-type]
    _option(INPUT, "--format", help="Format of FILE, if its suffix does not say; default for standard input: csv."),
]
Triangle = Annotated[
    Literal["full", "upper", "lower"],
    _option(INPUT, "--hermitian", help="Part of a matrix that is read; a full one must be Hermitian."),
]
ColumnI = Annotated[str, column("--i", "Column of the first node.")]
ColumnJ = Annotated[str, column("--j", "Column of the second node.")]
ColumnAngle = Annotated[str, column("--angle", "Column of the angle theta_i - theta_j.")]
ColumnWeight = Annotated[str | None, column("--weight", "Column of the weight (default: 'weight', if there is one).")]
ColumnError = Annotated[
    str | None,
    column(
        "--error",
        "Column of the standard deviation of each angle, in the unit of the file (default: 'sigma' or 'error', if "
        "there is one): weights are 1 / error^2. Their common factor is estimated; --sigma 1 trusts them.",
    ),
]
Unit = Annotated[
    UnitName,
    _option(
        INPUT, "--unit", help="Unit of all angles: in FILE, --anchor, --prior, --sigma, on screen, in csv and JSON."
    ),
]
UnitOfMeasurements = Annotated[
    UnitName,
    _option(INPUT, "--unit", help="Unit of the angles in FILE, --anchor and --prior. PHASES are always radians."),
]
Weights = Annotated[WeightsOfG2o, _option(INPUT, "--weights", help="Weights of a g2o file.")]
Phases = Annotated[
    Path, typer.Argument(metavar="PHASES", help="A saved result, or npy / npz / csv with phases, or angles in radians.")
]

# how it is solved
Solver = Annotated[Solvers, _option(METHOD, "--solver", help="auto chooses, and reports its choice.")]
Alpha = Annotated[float | None, _option(METHOD, "--alpha", help="Step size of --solver gpm (default: 4; may be inf).")]
Start = Annotated[
    str, _option(METHOD, "--start", metavar="NAME|FILE", help=f"auto, {', '.join(OFFERED)}, or a saved result.")
]
Gauge = Annotated[str, _option(METHOD, "--gauge", metavar="NODE", help="first, mean, or the name of a node.")]
Anchors = Annotated[
    list[str] | None,
    _option(METHOD, "--anchor", metavar="NODE=ANGLE", help="A known phase; may be repeated."),
]
Priors = Annotated[
    list[str] | None,
    _option(
        METHOD,
        "--prior",
        metavar="NODE=ANGLE,WEIGHT",
        help="A phase known with variance sigma^2/WEIGHT; may be repeated.",
    ),
]
Certify = Annotated[
    bool, _option(METHOD, "--certify/--no-certify", help="Prove optimality; without a proof the exit code is 1.")
]
Effort = Annotated[
    Literal["low", "normal", "high"],
    _option(METHOD, "--effort", help="How hard to try if the result is not certified: one run, or many starts."),
]
Gap = Annotated[float, typer.Option("--tolerance", help="Largest relative gap that is CERTIFIED.")]
Proof = Annotated[Proofs, typer.Option("--method", help="The proof: deterministic or with a failure probability.")]
Seed = Annotated[int, _option(METHOD, "--seed", help="Seed of all random numbers.", min=0)]
Tolerance = Annotated[
    float | None, _option(LIMITS, "--tolerance", help="Relative gradient to stop at (default: 1e-10; 1e-5 in single).")
]
MaxIterations = Annotated[int, _option(LIMITS, "--max-iterations", help="Limit of solver steps.")]
MaxSeconds = Annotated[float | None, _option(LIMITS, "--max-seconds", help="Limit of wall time.")]
Threads = Annotated[int | None, _option(LIMITS, "--threads", help="Threads to use (default: all cores).", min=1)]

# what comes out
ResultFile = Annotated[
    Path | None,
    _option(
        OUTPUT,
        "--output",
        "--out",
        "-o",
        help=f"Write the result here ({in_words(RESULT)}); that of a zarr stack is a zarr store.",
    ),
]
ReportFile = Annotated[Path | None, _option(OUTPUT, "--report", help="Write a self-contained HTML report here.")]
StandardErrors = Annotated[
    bool, _option(OUTPUT, "--standard-errors", help="Print and write the standard error of every phase.")
]
Sigma = Annotated[
    float | None,
    _option(
        OUTPUT,
        "--sigma",
        help="Noise level for standard errors: an angle of weight w has variance sigma^2/w (default: estimated).",
        min=0,
    ),
]
SaveBest = Annotated[
    Path | None,
    _option(
        OUTPUT, "--save-best", help="Save the best phases of a long solve in this npz file; --start FILE continues."
    ),
]
SaveSeconds = Annotated[float, _option(OUTPUT, "--save-seconds", help="Time between two saves.", min=0)]
Quiet = Annotated[bool, _option(OUTPUT, "--quiet", "-q", help="Print nothing but errors: see the exit code.")]
Json = Annotated[bool, _option(OUTPUT, "--json", help="Print one JSON object instead of text.")]

# stacks in zarr stores
Memory = Annotated[
    str | None,
    _option(STORES, "--memory", help="What may be read at once, such as 1GB (default: half of what is free)."),
]
Scheduler = Annotated[str | None, _option(STORES, "--scheduler", help="Address of a Dask scheduler to solve it on.")]
Variable = Annotated[str | None, _option(STORES, "--variable", help="The array in the store, if there are several.")]
Absent = Annotated[
    str,
    _option(STORES, "--absent", help="Missing chunks: error; empty (their problems are NO_DATA); zeros (fill with 0)."),
]
Resume = Annotated[bool, _option(STORES, "--resume", help="Continue an interrupted output (--out OUT.zarr).")]

# simulated problems
Model = Annotated[Models, typer.Argument(metavar="MODEL", help=f"Which problem: {', '.join(MODELS)}.")]
ProblemFile = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help=f"{in_words(MEASUREMENT_WRITERS)} (edges); {in_words(MATRIX_WRITERS)} (gaussian)."
    ),
]
Law = Annotated[
    Laws | None, typer.Option("--law", help="Noise of phase_noise and erdos_renyi (default: wrapped_normal).")
]
