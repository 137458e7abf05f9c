"""``angsync certify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from angsync.certificate.bounds import ProofChoice
from angsync.certificate.verdict import TOLERANCE
from angsync.cli.options import (
    ColumnAngle,
    ColumnI,
    ColumnJ,
    ColumnWeight,
    G2oWeights,
    Hermitian,
    Json,
    Problem,
    Triangle,
    Weights,
)
from angsync.cli.outcome import reporting
from angsync.cli.root import app


@app.command(short_help="Check anybody's PHASES for FILE.")
def certify(
    file: Problem,
    phases: Annotated[
        Path, typer.Argument(metavar="PHASES", help="A saved result, or npy / npz / csv with phases or angles.")
    ],
    tolerance: Annotated[float, typer.Option(help="CERTIFIED means a relative gap of at most this.")] = TOLERANCE,
    method: Annotated[
        ProofChoice, typer.Option(help="The proof: deterministic or with a failure probability.")
    ] = ProofChoice.auto,
    hermitian: Hermitian = Triangle.FULL,
    column_i: ColumnI = "i",
    column_j: ColumnJ = "j",
    column_angle: ColumnAngle = "angle",
    column_weight: ColumnWeight = None,
    weights: G2oWeights = Weights.kappa,
    json: Json = False,
) -> None:
    """Check anybody's phases: how far can they be from the best fit? Exit code 0 only if CERTIFIED."""
    with reporting() as console:
        from angsync.certificate.certify import certify as certify_phases
        from angsync.certificate.verdict import Verdict
        from angsync.cli.nodes import in_order_of
        from angsync.cli.progress import watching
        from angsync.cli.terminal import certificate_object, count_components, fitted
        from angsync.io import read, read_phases
        from angsync.io.strict_json import to_json
        from angsync.problem.operators import as_operator
        from angsync.report.words import certificate_in_words

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
