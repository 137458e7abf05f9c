"""``angsync certify``."""

from __future__ import annotations

from pathlib import Path

import typer

from angsync.certificate import GAP_TOLERANCE
from angsync.cli import options
from angsync.cli.outcome import reporting, show
from angsync.cli.root import app


@app.command(short_help="Check given PHASES for FILE.")
def certify(
    file: options.Problem,
    phases: options.Phases,
    tolerance: options.Gap = GAP_TOLERANCE,
    method: options.Proof = "auto",
    anchor: options.Anchors = None,
    prior: options.Priors = None,
    hermitian: options.Triangle = "full",
    i: options.ColumnI = "i",
    j: options.ColumnJ = "j",
    angle: options.ColumnAngle = "angle",
    weight: options.ColumnWeight = None,
    error: options.ColumnError = None,
    unit: options.UnitOfMeasurements = "rad",
    weights: options.Weights = "kappa",
    json: options.Json = False,
) -> None:
    """Check phases from any source: how far can they be from the best fit? Exit code 0 only if CERTIFIED.

    Phases that were found with anchors or priors answer the problem with them: give the same ones here.
    """
    with reporting() as console:
        from angsync.certificate.certify import certify as certify_phases
        from angsync.certificate.verdict import Verdict
        from angsync.cli.nodes import anchors_from_text, in_order_of, priors_from_text
        from angsync.cli.progress import watching
        from angsync.cli.terminal import certificate_object, count_components
        from angsync.io import read, read_phases
        from angsync.problem.operators import as_operator
        from angsync.report.sentences import certificate_in_words

        with watching(console, "reading"):
            data = read(file, i=i, j=j, angle=angle, weight=weight, error=error, weights=weights, unit=unit)
            operator = as_operator(data, hermitian)
            z = in_order_of(data, *read_phases(phases))
            note = _other_problem(phases, grounded=bool(anchor or prior))
        with watching(console, "certifying"):
            if anchor or prior:
                from angsync.pipeline import anchored

                certificate = anchored.certify(
                    data, z,
                    anchors_from_text(anchor or [], data, unit), priors_from_text(prior or [], data, unit),
                    tolerance=tolerance, method=method, hermitian=hermitian,
                )  # fmt: skip
            else:
                certificate = certify_phases(operator, z, tolerance, method)

        def in_words() -> str:
            count, grounded = count_components(operator), bool(anchor or prior)
            words = f"{certificate}\n{certificate_in_words(certificate, components=count, anchored=grounded)}"
            return f"{words}\nNote: {note}" if note else words

        show(json, lambda: {**certificate_object(certificate), "note": note or None}, in_words)
        raise typer.Exit(0 if certificate.verdict is Verdict.CERTIFIED else 1)


def _other_problem(phases: Path, *, grounded: bool) -> str:
    """What a saved result answers, where that is another problem than the one that is checked; empty otherwise."""
    import warnings

    from angsync.errors import InputError, UnitWarning
    from angsync.io.result_file import load_fields

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnitWarning)  # it was said when the phases were read
            fields = load_fields(phases)
    except InputError:  # phases from elsewhere, which say nothing about their problem
        return ""
    notes = []
    if fields.get("gauge") == "anchors" and not grounded:
        notes.append(
            f"{phases} was saved with anchors or priors and answers the problem with them, but this is about the "
            "problem without. Give the same --anchor and --prior."
        )
    if fields.get("robust") is not None:
        notes.append(
            f"{phases} was saved by solver robust and answers the problem with the weights that it found, but this is "
            "about the weights given. The certificate in that file is of its own problem."
        )
    return " ".join(notes)
