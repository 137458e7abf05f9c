"""Names and options that commands share. Nothing in here loads NumPy: the names come from tables that need none."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from angsync.certificate.bounds import METHODS
from angsync.io.formats import G2O_WEIGHTS, MATRIX_WRITERS, MEASUREMENT_WRITERS, READ, RESULT, in_words
from angsync.problem.units import FULL_TURN
from angsync.simulate.names import LAWS, MODELS
from angsync.solvers.names import SOLVERS
from angsync.solvers.starts.names import OFFERED

if TYPE_CHECKING:  # a type checker cannot know names that come from a table
    SolverName = Any
    ProofName = Any
    ModelName = Any
    LawName = Any
    WeightsName = Any
    TriangleName = Any
    UnitName = Any
    EffortName = Any
    FormatName = Any
else:

    def _words(title: str, names: Iterable[str]) -> type[StrEnum]:
        """An enumeration, which is what Typer takes for a choice, of the names of a table."""
        return StrEnum(title, [(name, name) for name in names])

    SolverName = _words("SolverName", ("auto", *SOLVERS))
    ProofName = _words("ProofName", ("auto", *METHODS))
    ModelName = _words("ModelName", MODELS)
    LawName = _words("LawName", LAWS)
    WeightsName = _words("WeightsName", G2O_WEIGHTS)
    TriangleName = _words("TriangleName", ("full", "upper", "lower"))
    UnitName = _words("UnitName", FULL_TURN)
    EffortName = _words("EffortName", ("low", "normal", "high"))
    FormatName = _words("FormatName", (suffix.removeprefix(".") for suffix in READ))

# what is read
Problem = Annotated[Path, typer.Argument(metavar="FILE", help=f"The measurements: {in_words(READ)}.")]
ProblemOrStack = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help=f"The measurements: {in_words(READ)}. A stack of matrices: npy, npz or zarr. - is standard input.",
    ),
]
Format = Annotated[
    FormatName | None,
    typer.Option("--format", help="What FILE is, where its name does not say; standard input is csv unless given."),
]
Triangle = Annotated[
    TriangleName, typer.Option("--hermitian", help="Which part of a matrix is read; the whole must be Hermitian.")
]
ColumnI = Annotated[str, typer.Option("--column-i", help="Column of the first node (csv, parquet).")]
ColumnJ = Annotated[str, typer.Option("--column-j", help="Column of the second node.")]
ColumnAngle = Annotated[str, typer.Option("--column-angle", help="Column of the angle theta_i - theta_j.")]
ColumnWeight = Annotated[
    str | None,
    typer.Option("--column-weight", help="Column of the weight ('weight' is used where there is one)."),
]
Unit = Annotated[
    UnitName,
    typer.Option(
        "--unit", help="Unit of all angles: in FILE, --anchor, --prior, --sigma; printed, and written as csv or JSON."
    ),
]
UnitBesidePhases = Annotated[
    UnitName,
    typer.Option("--unit", help="Unit of the angles in FILE, --anchor and --prior. PHASES are always radians."),
]
Weights = Annotated[WeightsName, typer.Option("--weights", help="Weights of a g2o file.")]
Phases = Annotated[
    Path, typer.Argument(metavar="PHASES", help="A saved result, or npy / npz / csv with phases, or angles in radians.")
]

# how it is solved
Solver = Annotated[SolverName, typer.Option("--solver", help="auto chooses, and says what and why.")]
Alpha = Annotated[float | None, typer.Option("--alpha", help="Step size of --solver gpm: 4 unless given; may be inf.")]
Start = Annotated[
    str, typer.Option("--start", metavar="NAME|FILE", help=f"Start: auto, {', '.join(OFFERED)}, or a saved result.")
]
Gauge = Annotated[str, typer.Option("--gauge", help="first, mean, or the name of a node.")]
Anchors = Annotated[
    list[str] | None, typer.Option("--anchor", help="NODE=ANGLE: a phase that is known; may be repeated.")
]
Priors = Annotated[
    list[str] | None,
    typer.Option("--prior", help="NODE=ANGLE,WEIGHT: a phase known with variance sigma^2/WEIGHT; may be repeated."),
]
Tolerance = Annotated[
    float | None, typer.Option("--tolerance", help="When to stop: the relative gradient; 1e-10 (1e-5 in single).")
]
MaxIterations = Annotated[int, typer.Option("--max-iterations", help="Limit of solver steps.")]
MaxSeconds = Annotated[float | None, typer.Option("--max-seconds", help="Limit of wall time.")]
Certify = Annotated[
    bool, typer.Option("--certify/--no-certify", help="Prove optimality; without it the exit code is 1.")
]
Effort = Annotated[
    EffortName, typer.Option("--effort", help="What is spent on problems that are not proved: one run, or more starts.")
]
Gap = Annotated[float, typer.Option("--tolerance", help="CERTIFIED means a relative gap of at most this.")]
Proof = Annotated[ProofName, typer.Option("--method", help="The proof: deterministic or with a failure probability.")]
SaveBest = Annotated[
    Path | None,
    typer.Option("--save-best", help="Save the best phases of a long solve in this npz file; --start FILE continues."),
]
SaveSeconds = Annotated[float, typer.Option("--save-seconds", help="Time between two saves (default: 30).", min=0)]
Resume = Annotated[bool, typer.Option("--resume", help="Continue an output (--out OUT.zarr) that was interrupted.")]
Seed = Annotated[
    int, typer.Option("--seed", help="Seed of everything random; the same seed gives the same answer.", min=0)
]

# what comes out
ResultFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "--out", "-o", help=f"Write the result here ({in_words(RESULT)}). Of a zarr stack: a zarr store."
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory", help="Of a zarr stack: what may be read at once, such as 1GB; half of what is free unless given."
    ),
]
Scheduler = Annotated[
    str | None, typer.Option("--scheduler", help="Of a zarr stack: address of a Dask scheduler whose workers solve it.")
]
Variable = Annotated[
    str | None, typer.Option("--variable", help="Of a zarr stack: the array in it, where it holds several.")
]
Absent = Annotated[
    str,
    typer.Option(
        "--absent",
        help="Chunks that a zarr stack does not hold: error, empty (no data: NO_DATA), or zeros (of nothing but zeros, "
        "not written).",
    ),
]
ReportFile = Annotated[Path | None, typer.Option("--report", help="Write a self-contained HTML report here.")]
StandardErrors = Annotated[
    bool, typer.Option("--standard-errors", help="Add the standard error of every phase, printed and written.")
]
Sigma = Annotated[
    float | None,
    typer.Option(
        "--sigma", help="For the standard errors: weight w means variance sigma^2/w; estimated unless given.", min=0
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors: the exit code says how it went.")]
Threads = Annotated[int | None, typer.Option("--threads", help="Threads to use; all cores unless given.", min=1)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]

# simulated problems
Model = Annotated[ModelName, typer.Argument(metavar="MODEL", help=f"Which problem: {', '.join(MODELS)}.")]
ProblemFile = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help=f"{in_words(MEASUREMENT_WRITERS)} (edges); {in_words(MATRIX_WRITERS)} (gaussian)."
    ),
]
Law = Annotated[
    LawName | None, typer.Option("--law", help="Of phase_noise and erdos_renyi: wrapped_normal unless given.")
]
