"""Names and options that commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class SolverName(StrEnum):
    """Solvers by name."""

    auto = "auto"
    gpm = "gpm"
    newton = "newton"
    robust = "robust"
    sdp = "sdp"


class StartName(StrEnum):
    """Starting points by name."""

    auto = "auto"
    eigenvector = "eigenvector"
    normalised_eigenvector = "normalised_eigenvector"
    connection_laplacian = "connection_laplacian"
    spanning_tree = "spanning_tree"
    multilevel = "multilevel"
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
