"""``angsync certify``."""

from __future__ import annotations

import typer

from angsync.certificate import GAP_TOLERANCE
from angsync.cli import options
from angsync.cli.outcome import reporting, show
from angsync.cli.root import app


@app.command(short_help="Check anybody's PHASES for FILE.")
def certify(
    file: options.Problem,
    phases: options.Phases,
    tolerance: options.Gap = GAP_TOLERANCE,
    method: options.Proof = "auto",
    hermitian: options.Triangle = "full",
    column_i: options.ColumnI = "i",
    column_j: options.ColumnJ = "j",
    column_angle: options.ColumnAngle = "angle",
    column_weight: options.ColumnWeight = None,
    unit: options.Unit = "rad",
    weights: options.Weights = "kappa",
    json: options.Json = False,
) -> None:
    """Check anybody's phases: how far can they be from the best fit? Exit code 0 only if CERTIFIED."""
    with reporting() as console:
        from angsync.certificate.certify import certify as certify_phases
        from angsync.certificate.verdict import Verdict
        from angsync.cli.nodes import in_order_of
        from angsync.cli.progress import watching
        from angsync.cli.terminal import certificate_object, count_components
        from angsync.io import read, read_phases
        from angsync.problem.operators import as_operator
        from angsync.report.words import certificate_in_words

        with watching(console, "reading"):
            data = read(
                file, i=column_i, j=column_j, angle=column_angle, weight=column_weight, weights=weights.value,
                unit=unit.value,
            )  # fmt: skip
            operator = as_operator(data, hermitian.value)
            z = in_order_of(data, *read_phases(phases))
        with watching(console, "certifying"):
            certificate = certify_phases(operator, z, tolerance, method.value)

        def in_words() -> str:
            return f"{certificate}\n{certificate_in_words(certificate, components=count_components(operator))}"

        show(json, lambda: certificate_object(certificate), in_words)
        raise typer.Exit(0 if certificate.verdict is Verdict.CERTIFIED else 1)
