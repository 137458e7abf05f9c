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


def _option(panel: str, name: str, help: str, *others: str, **settings: Any) -> Any:
    return typer.Option(name, *others, help=help, rich_help_panel=panel, **settings)


def column(name: str, help: str) -> Any:
    """Return an option that names a column of the file."""
    return _option("Columns of a table", name, help, metavar="NAME")


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
_STACK = f"{_MEASUREMENTS} A stack of matrices: npy, npz or zarr. - is standard input."
_FORMAT = "Format of FILE, if its suffix does not say; default for standard input: csv."
_ERROR = (
    "Column of the standard deviation of each angle, in the unit of the file (default: 'sigma' or 'error', if there is "
    "one): weights are 1 / error^2. Their common factor is estimated; --sigma 1 trusts them."
)
_UNIT = "Unit of all angles: in FILE, --anchor, --prior, --sigma, on screen, in csv and JSON."
_UNIT_OF_MEASUREMENTS = "Unit of the angles in FILE, --anchor and --prior. PHASES are always radians."
_PHASES = "A saved result, or npy / npz / csv with phases, or angles in radians."
Problem = Annotated[Path, typer.Argument(metavar="FILE", help=_MEASUREMENTS)]
ProblemOrStack = Annotated[Path, typer.Argument(metavar="FILE", help=_STACK)]
Format = Annotated[Formats | None, _option(INPUT, "--format", _FORMAT)]  # type: ignore[valid-type]
Triangle = Annotated[
    Literal["full", "upper", "lower"],
    _option(INPUT, "--hermitian", "Part of a matrix that is read; a full one must be Hermitian."),
]
ColumnI = Annotated[str, column("--i", "Column of the first node.")]
ColumnJ = Annotated[str, column("--j", "Column of the second node.")]
ColumnAngle = Annotated[str, column("--angle", "Column of the angle theta_i - theta_j.")]
ColumnWeight = Annotated[str | None, column("--weight", "Column of the weight (default: 'weight', if there is one).")]
ColumnError = Annotated[str | None, column("--error", _ERROR)]
Unit = Annotated[UnitName, _option(INPUT, "--unit", _UNIT)]
UnitOfMeasurements = Annotated[UnitName, _option(INPUT, "--unit", _UNIT_OF_MEASUREMENTS)]
Weights = Annotated[WeightsOfG2o, _option(INPUT, "--weights", "Weights of a g2o file.")]
Phases = Annotated[Path, typer.Argument(metavar="PHASES", help=_PHASES)]

# how it is solved
_START = f"auto, {', '.join(OFFERED)}, or a saved result."
_PRIOR = "A phase known with variance sigma^2/WEIGHT; may be repeated."
_EFFORT = "How hard to try if the result is not certified: one run, or many starts."
Solver = Annotated[Solvers, _option(METHOD, "--solver", "auto chooses, and reports its choice.")]
Alpha = Annotated[float | None, _option(METHOD, "--alpha", "Step size of --solver gpm (default: 4; may be inf).")]
Start = Annotated[str, _option(METHOD, "--start", _START, metavar="NAME|FILE")]
Gauge = Annotated[str, _option(METHOD, "--gauge", "first, mean, or the name of a node.", metavar="NODE")]
Anchors = Annotated[
    list[str] | None, _option(METHOD, "--anchor", "A known phase; may be repeated.", metavar="NODE=ANGLE")
]
Priors = Annotated[list[str] | None, _option(METHOD, "--prior", _PRIOR, metavar="NODE=ANGLE,WEIGHT")]
Certify = Annotated[
    bool, _option(METHOD, "--certify/--no-certify", "Prove optimality; without a proof the exit code is 1.")
]
Effort = Annotated[Literal["low", "normal", "high"], _option(METHOD, "--effort", _EFFORT)]
Gap = Annotated[float, typer.Option("--tolerance", help="Largest relative gap that is CERTIFIED.")]
Proof = Annotated[Proofs, typer.Option("--method", help="The proof: deterministic or with a failure probability.")]
Seed = Annotated[int, _option(METHOD, "--seed", "Seed of all random numbers.", min=0)]
Tolerance = Annotated[
    float | None, _option(LIMITS, "--tolerance", "Relative gradient to stop at (default: 1e-10; 1e-5 in single).")
]
MAX_ITERATIONS = 10_000
MaxIterations = Annotated[int, _option(LIMITS, "--max-iterations", "Limit of solver steps.")]
MaxSeconds = Annotated[
    float | None, _option(LIMITS, "--max-seconds", "Limit of wall time; --resume continues a zarr store.")
]
Threads = Annotated[int | None, _option(LIMITS, "--threads", "Threads to use (default: all cores).", min=1)]

# what comes out
_RESULT = f"Write the result here ({in_words(RESULT)}); that of a zarr stack is a zarr store."
_SIGMA = "Noise level for standard errors: an angle of weight w has variance sigma^2/w (default: estimated)."
_SAVE_BEST = "Save the best phases of a long solve in this npz file; --start FILE continues."
ResultFile = Annotated[Path | None, _option(OUTPUT, "--output", _RESULT, "--out", "-o")]
TableFile = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write the table of results here (csv, npz or parquet).")
]
ReportFile = Annotated[Path | None, _option(OUTPUT, "--report", "Write a self-contained HTML report here.")]
StandardErrors = Annotated[
    bool, _option(OUTPUT, "--standard-errors", "Print and write the standard error of every phase.")
]
Sigma = Annotated[float | None, _option(OUTPUT, "--sigma", _SIGMA, min=0)]
SaveBest = Annotated[Path | None, _option(OUTPUT, "--save-best", _SAVE_BEST)]
SaveSeconds = Annotated[float, _option(OUTPUT, "--save-seconds", "Time between two saves.", min=0)]
Quiet = Annotated[bool, _option(OUTPUT, "--quiet", "Print nothing but errors: see the exit code.", "-q")]
Json = Annotated[bool, _option(OUTPUT, "--json", "Print one JSON object instead of text.")]

# stacks in zarr stores
_MEMORY = "What may be read at once, such as 1GB (default: half of what is free)."
_SCHEDULER = "Address of a Dask scheduler whose workers compute the chunks."
_ABSENT = "Missing chunks: error; empty (their problems are NO_DATA); zeros (fill with 0)."
Memory = Annotated[str | None, _option(STORES, "--memory", _MEMORY)]
Scheduler = Annotated[str | None, _option(STORES, "--scheduler", _SCHEDULER)]
Variable = Annotated[str | None, _option(STORES, "--variable", "The array in the store, if there are several.")]
Absent = Annotated[str, _option(STORES, "--absent", _ABSENT)]
Resume = Annotated[bool, _option(STORES, "--resume", "Continue an interrupted output (--out OUT.zarr).")]

# simulated problems
_PROBLEM = f"{in_words(MEASUREMENT_WRITERS)} (edges); {in_words(MATRIX_WRITERS)} (gaussian)."
_LAW = "Noise of phase_noise and erdos_renyi (default: wrapped_normal)."
Model = Annotated[Models, typer.Argument(metavar="MODEL", help=f"Which problem: {', '.join(MODELS)}.")]
ProblemFile = Annotated[Path, typer.Option("--output", "-o", help=_PROBLEM)]
Law = Annotated[Laws | None, typer.Option("--law", help=_LAW)]
