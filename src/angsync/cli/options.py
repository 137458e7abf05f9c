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


def option(help: str, *names: str, panel: str | None = None, **settings: Any) -> Any:
    """Return an option, called as the parameter is unless it has names."""
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


def argument(name: str, help: str) -> Any:
    """Return an argument."""
    return typer.Argument(metavar=name, help=help)


def column(name: str, help: str) -> Any:
    """Return an option that names a column of the file."""
    return option(help, name, metavar="NAME", panel="Columns of a table")


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
Problem = Annotated[Path, argument("FILE", _MEASUREMENTS)]
ProblemOrStack = Annotated[Path, argument("FILE", _STACK)]
Format = Annotated[Formats | None, option(_FORMAT, "--format", panel=INPUT)]  # type: ignore[valid-type]
Triangle = Annotated[
    Literal["full", "upper", "lower"],
    option("Part of a matrix that is read; a full one must be Hermitian.", "--hermitian", panel=INPUT),
]
ColumnI = Annotated[str, column("--i", "Column of the first node.")]
ColumnJ = Annotated[str, column("--j", "Column of the second node.")]
ColumnAngle = Annotated[str, column("--angle", "Column of the angle theta_i - theta_j.")]
ColumnWeight = Annotated[str | None, column("--weight", "Column of the weight (default: 'weight', if there is one).")]
ColumnError = Annotated[str | None, column("--error", _ERROR)]
Unit = Annotated[UnitName, option(_UNIT, "--unit", panel=INPUT)]
UnitOfMeasurements = Annotated[UnitName, option(_UNIT_OF_MEASUREMENTS, "--unit", panel=INPUT)]
Weights = Annotated[WeightsOfG2o, option("Weights of a g2o file.", "--weights", panel=INPUT)]
Phases = Annotated[Path, argument("PHASES", _PHASES)]

# how it is solved
_START = f"auto, {', '.join(OFFERED)}, or a saved result."
_PRIOR = "A phase known with variance sigma^2/WEIGHT; may be repeated."
_EFFORT = "How hard to try if the result is not certified: one run, or many starts."
Solver = Annotated[Solvers, option("auto chooses, and reports its choice.", "--solver", panel=METHOD)]
Alpha = Annotated[float | None, option("Step size of --solver gpm (default: 4; may be inf).", "--alpha", panel=METHOD)]
Start = Annotated[str, option(_START, "--start", metavar="NAME|FILE", panel=METHOD)]
Gauge = Annotated[str, option("first, mean, or the name of a node.", "--gauge", metavar="NODE", panel=METHOD)]
Anchors = Annotated[
    list[str] | None, option("A known phase; may be repeated.", "--anchor", metavar="NODE=ANGLE", panel=METHOD)
]
Priors = Annotated[list[str] | None, option(_PRIOR, "--prior", metavar="NODE=ANGLE,WEIGHT", panel=METHOD)]
Certify = Annotated[
    bool, option("Prove optimality; without a proof the exit code is 1.", "--certify/--no-certify", panel=METHOD)
]
Effort = Annotated[Literal["low", "normal", "high"], option(_EFFORT, "--effort", panel=METHOD)]
Gap = Annotated[float, option("Largest relative gap that is CERTIFIED.", "--tolerance")]
Proof = Annotated[Proofs, option("The proof: deterministic or with a failure probability.", "--method")]
Seed = Annotated[int, option("Seed of all random numbers.", "--seed", min=0, panel=METHOD)]
Tolerance = Annotated[
    float | None, option("Relative gradient to stop at (default: 1e-10; 1e-5 in single).", "--tolerance", panel=LIMITS)
]
MAX_ITERATIONS = 10_000
MaxIterations = Annotated[int, option("Limit of solver steps.", "--max-iterations", panel=LIMITS)]
MaxSeconds = Annotated[
    float | None, option("Limit of wall time; --resume continues a zarr store.", "--max-seconds", panel=LIMITS)
]
Threads = Annotated[int | None, option("Threads to use (default: all cores).", "--threads", min=1, panel=LIMITS)]

# what comes out
_RESULT = f"Write the result here ({in_words(RESULT)}); that of a zarr stack is a zarr store."
_SIGMA = "Noise level for standard errors: an angle of weight w has variance sigma^2/w (default: estimated)."
_SAVE_BEST = "Save the best phases of a long solve in this npz file; --start FILE continues."
ResultFile = Annotated[Path | None, option(_RESULT, "--output", "--out", "-o", panel=OUTPUT)]
TableFile = Annotated[Path | None, option("Write the table of results here (csv, npz or parquet).", "--output", "-o")]
ReportFile = Annotated[Path | None, option("Write a self-contained HTML report here.", "--report", panel=OUTPUT)]
StandardErrors = Annotated[
    bool, option("Print and write the standard error of every phase.", "--standard-errors", panel=OUTPUT)
]
Sigma = Annotated[float | None, option(_SIGMA, "--sigma", min=0, panel=OUTPUT)]
SaveBest = Annotated[Path | None, option(_SAVE_BEST, "--save-best", panel=OUTPUT)]
SaveSeconds = Annotated[float, option("Time between two saves.", "--save-seconds", min=0, panel=OUTPUT)]
Quiet = Annotated[bool, option("Print nothing but errors: see the exit code.", "--quiet", "-q", panel=OUTPUT)]
Json = Annotated[bool, option("Print one JSON object instead of text.", "--json", panel=OUTPUT)]

# stacks in zarr stores
_MEMORY = "What may be read at once, such as 1GB (default: half of what is free)."
_SCHEDULER = "Address of a Dask scheduler whose workers compute the chunks."
_ABSENT = "Missing chunks: error; empty (their problems are NO_DATA); zeros (fill with 0)."
Memory = Annotated[str | None, option(_MEMORY, "--memory", panel=STORES)]
Scheduler = Annotated[str | None, option(_SCHEDULER, "--scheduler", panel=STORES)]
Variable = Annotated[str | None, option("The array in the store, if there are several.", "--variable", panel=STORES)]
Absent = Annotated[str, option(_ABSENT, "--absent", panel=STORES)]
Resume = Annotated[bool, option("Continue an interrupted output (--out OUT.zarr).", "--resume", panel=STORES)]

# simulated problems
_PROBLEM = f"{in_words(MEASUREMENT_WRITERS)} (edges); {in_words(MATRIX_WRITERS)} (gaussian)."
_LAW = "Noise of phase_noise and erdos_renyi (default: wrapped_normal)."
Model = Annotated[Models, argument("MODEL", f"Which problem: {', '.join(MODELS)}.")]
ProblemFile = Annotated[Path, option(_PROBLEM, "--output", "-o")]
Law = Annotated[Laws | None, option(_LAW, "--law")]
