"""``angsync certify``."""

from __future__ import annotations

from pathlib import Path

import typer

from angsync.certificate import GAP_TOLERANCE
from angsync.cli import options
from angsync.cli.outcome import show
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
    from angsync.certificate.certify import certify as certify_phases
    from angsync.certificate.verdict import Verdict
    from angsync.cli.nodes import in_order_of, known_from_text
    from angsync.cli.progress import watching
    from angsync.cli.terminal import certificate_object
    from angsync.io import read, read_phases
    from angsync.pipeline import anchored
    from angsync.problem.operators import as_operator
    from angsync.report.sentences import certificate_in_words

    with watching("reading"):
        data = read(file, i=i, j=j, angle=angle, weight=weight, error=error, weights=weights, unit=unit)
        operator = as_operator(data, hermitian)
        z = in_order_of(data, *read_phases(phases))
        known = [known_from_text("anchor", anchor, data, unit), known_from_text("prior", prior, data, unit)]
        note = _other_problem(phases, grounded=any(known))
    with watching("certifying"):
        if any(known):
            certificate = anchored.certify(data, z, *known, tolerance=tolerance, method=method, hermitian=hermitian)
        else:
            certificate = certify_phases(operator, z, tolerance, method)

    def in_words() -> str:
        labels = operator.component_labels()  # None if only products with C are known
        count = 1 if labels is None else int(labels.max()) + 1
        words = f"{certificate}\n{certificate_in_words(certificate, components=count, anchored=any(known))}"
        return f"{words}\nNote: {note}" if note else words

    show(json, lambda: {**certificate_object(certificate), "note": note or None}, in_words)
    raise typer.Exit(0 if certificate.verdict is Verdict.CERTIFIED else 1)


def _other_problem(phases: Path, *, grounded: bool) -> str:
    """Return what a saved result answers if that is another problem than the one that is checked; empty otherwise."""
    from angsync.errors import InputError, muted
    from angsync.io.result_file import load_fields

    try:
        with muted():  # what is to warn of was said when the phases were read
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
