"""The certificate in words, for the page, the command line and ``print(result)``."""

from __future__ import annotations

import math
from collections.abc import Callable

from angsync.certificate.bounds import METHODS
from angsync.report.numbers import counted, plain_number
from angsync.report.protocols import ReportedCertificate, ReportedResult, ReportedWeights
from angsync.report.verdict_line import light_nodes_in_words, what_helps, why_undecided


def certificate_in_words(
    certificate: ReportedCertificate | None,
    components: int = 1,
    number: Callable[[float], str] = lambda value: plain_number(value, 3),
    *,
    anchored: bool = False,
    weights: ReportedWeights | None = None,
    result: ReportedResult | None = None,
) -> str:
    """Say in plain sentences what is proved, how, and what to do where it is not.

    ``components`` is the number of connected components; ``number`` formats the values (ASCII unless given).
    ``anchored``: anchors or priors say what the phases are against, so no global phase is free. ``weights``: a robust
    fit found the weights, so that what is proved is proved for these weights only. ``result``: what the certificate is
    of; with it the reason is known where nothing could be proved.
    """
    if weights is not None and weights.credible is False:
        return (
            f"Not credible: {weights.note} Nothing that is proved about the weighted problem makes these phases right."
        )
    if certificate is None:
        return "Not certified: no certificate was asked for, so nothing is proved about this answer."
    verdict = certificate.verdict.name
    if verdict == "CERTIFIED":
        sentences = _certified(certificate, components, number, anchored, result)
    elif verdict == "REFUTED":
        sentences = _refuted(certificate, number)
    else:
        sentences = _undecided(certificate, number, result)
    if weights is not None:
        sentences.insert(0, "For these weights:")
    return " ".join(sentences)


def verdict_in_words(certificate: ReportedCertificate, weights: ReportedWeights | None) -> str:
    """The name of the verdict. It never stands alone for weights that were found, nor above an answer in doubt."""
    if weights is None:
        return certificate.verdict.name
    return "NOT CREDIBLE" if weights.credible is False else f"{certificate.verdict.name} for these weights"


def headline(certificate: ReportedCertificate | None, weights: ReportedWeights | None = None) -> str:
    """The verdict in a few words."""
    if weights is not None and weights.credible is False:
        return "Not credible"
    if certificate is None:
        return "Not certified"
    if certificate.verdict.name == "CERTIFIED" and certificate.undecided_nodes:
        return f"Certified but for {counted(len(certificate.undecided_nodes), 'node')} of small weight"
    return {
        "CERTIFIED": "Certified optimal" if weights is None else "Certified for these weights",
        "REFUTED": "Refuted: a better point was found",
    }.get(certificate.verdict.name, "Undecided")


def look_of(result: ReportedResult) -> str:
    """Return the look of the badge beside the headline: good, bad, open or none."""
    if result.robust is not None and result.robust.credible is False:
        return "bad"
    if result.certificate is None:
        return "none"
    certified = "open" if result.certificate.undecided_nodes else "good"
    return {"CERTIFIED": certified, "REFUTED": "bad"}.get(result.certificate.verdict.name, "open")


def proof_in_words(certificate: ReportedCertificate, number: Callable[[float], str]) -> str:
    """How the bound was obtained, and how sure it is."""
    method = certificate.method.lower()
    used = [proof for name, proof in METHODS.items() if name in method]
    if used:
        how = used[0].words
    elif "trivial" in method:
        how = "a direct argument, because the problem leaves no choice"
    elif "misfit" in method:
        how = "the misfit, which is no larger than that"
    else:
        how = f"the method '{certificate.method}'"
    if method.endswith("+relaxation"):
        how = f"a semidefinite relaxation, with the dual bound proved by factorization, and {how}"
    failure = 1.0 - float(certificate.confidence)
    if failure > 0:
        return f"{how} that fails with probability at most {number(_one_digit_up(failure))}"
    if not all(proof.deterministic for proof in used):  # 1 - p rounds to 1 when p is below the precision of a double
        return f"{how} that fails with probability below {number(1e-15)}"
    return f"{how} (deterministic)"


def _certified(
    certificate: ReportedCertificate,
    components: int,
    number: Callable[[float], str],
    anchored: bool,
    result: ReportedResult | None,
) -> list[str]:
    light = light_nodes_in_words(certificate, result)
    gap = _gap(certificate, number)
    sentences = [f"Proved: no assignment of phases fits better than this one by more than {gap}.{light}"]
    if certificate.unique and anchored:
        free = "" if components <= 1 else ", up to one phase for each component without anchor or prior"
        sentences.append(f"The optimum is unique{free}.")
    elif certificate.unique:
        scope = "a global phase" if components <= 1 else "one global phase per connected component"
        sentences.append(f"The optimum is unique up to {scope}.")
    else:
        sentences.append("That the optimum is unique is not proved: another assignment may fit as well.")
    sentences.append(f"The proof is {proof_in_words(certificate, number)}.")
    return sentences


def _refuted(certificate: ReportedCertificate, number: Callable[[float], str]) -> list[str]:
    sentences = [
        "Refuted: a better point was found. The witness of the certificate is an assignment of phases that "
        "fits better than this one, beyond rounding, so this one is not optimal."
    ]
    if math.isfinite(certificate.gap_bound):
        sentences.append(f"The optimum exceeds this objective by at most {_gap(certificate, number)}.")
    sentences.append("Solve again from the witness, or with more effort.")
    return sentences


def _undecided(
    certificate: ReportedCertificate, number: Callable[[float], str], result: ReportedResult | None
) -> list[str]:
    if certificate.method == "trivial":
        return ["Undecided: nothing is measured, so that there is nothing to prove, and any phases fit as well."]
    sentences = ["Undecided: this point is not proved to be optimal, and no better point was found."]
    if result is not None:
        sentences = [
            f"Undecided: this point is not proved to be optimal, because {why_undecided(result, certificate)}. "
            "No better point was found."
        ]
    if math.isfinite(certificate.gap_bound):
        sentences.append(
            f"The best bound known: the optimum exceeds this one by at most {_gap(certificate, number)}. "
            f"Certified would need a relative gap of {number(certificate.tolerance)}."
        )
        if certificate.out_of_time:
            sentences.append("There was no time left for a proof; that bound is the misfit of the data.")
        else:
            sentences.append(f"That bound rests on {proof_in_words(certificate, number)}.")
    else:
        because = ", because the run was interrupted" if certificate.interrupted else ""
        sentences.append(f"No finite bound on the distance to the optimum is known{because}.")
    if certificate.untried:
        sentences.append(f"Not tried: {certificate.untried}.")
    if result is not None:
        return [*sentences, what_helps(result, certificate)]
    sentences.append(
        "If the solver stopped early, let it go on (a smaller tolerance, more iterations) and "
        "certify again. If it converged, the noise may be too high for this proof: the answer can still be "
        "the best there is, and a start from another point is a fair test of it."
    )
    return sentences


def _gap(certificate: ReportedCertificate, number: Callable[[float], str]) -> str:
    text = number(certificate.gap_bound)
    if math.isfinite(certificate.relative_gap):
        text += f" ({number(certificate.relative_gap)} relative)"
    return text


def _one_digit_up(probability: float) -> float:
    """Round up to one digit, so that 'at most' stays true, but forgive the rounding of 1 - p."""
    exponent = math.floor(math.log10(probability))
    scaled = probability / 10.0**exponent
    slack = 2.3e-16 / probability  # relative rounding error of 1 - (1 - p)
    return math.ceil(scaled * (1 - slack) - 1e-12) * 10.0**exponent
