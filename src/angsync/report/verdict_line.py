"""The verdict as the first line that people read: one word and one plain sentence."""

from __future__ import annotations

from angsync.io.failures import listed
from angsync.report.numbers import plain_number
from angsync.report.protocols import ReportedCertificate, ReportedResult

_CLOSE = 0.01  # relative gap below which the rest matters to few: the bound is said, not the noise
_MANY_NODES = 20_000  # from which a proof by products alone may lack steps where noise is small


def verdict_line(result: ReportedResult) -> str:
    """``CERTIFIED: ...``, ``REFUTED: ...``, ``UNDECIDED: ...``, ``NOT CERTIFIED: ...`` or ``NOT CREDIBLE: ...``."""
    certificate, weights = result.certificate, result.robust
    if weights is not None and weights.credible is False:
        return f"NOT CREDIBLE: {weights.note}"
    if certificate is None:
        return "NOT CERTIFIED: no proof was asked for, so nothing is known about how good these phases are."
    name = certificate.verdict.name
    told = name if weights is None else f"{name} for these weights"
    if name == "CERTIFIED":
        other = "" if certificate.unique else " Others may fit as well."
        light = light_nodes_in_words(certificate, result)
        return f"{told}: it is proved that no other phases fit these measurements better.{other}{light}"
    if name == "REFUTED":
        return f"{told}: other phases are known that fit better, so these are not the best."
    return f"{told}: these phases are not proved to be the best fit, because {why_undecided(result, certificate)}."


def light_nodes_in_words(certificate: ReportedCertificate, result: ReportedResult | None) -> str:
    """Name the nodes that the proof leaves open, in a sentence after others; empty if there are none."""
    nodes = certificate.undecided_nodes
    if not nodes:
        return ""
    names = nodes if result is None or result.labels is None else [result.labels[node] for node in nodes]
    return (
        f" But only measurements of small weight tie {len(nodes)} node(s) to the others: the tolerance of the proof "
        f"does not decide where they belong: {listed(names)}."
    )


def why_undecided(result: ReportedResult, certificate: ReportedCertificate) -> str:
    """The reason, in words that follow "because"."""
    return _reason(result, certificate)[0]


def what_helps(result: ReportedResult, certificate: ReportedCertificate) -> str:
    """What to do about it: one sentence."""
    return _reason(result, certificate)[1]


def _reason(result: ReportedResult, certificate: ReportedCertificate) -> tuple[str, str]:
    status = result.status.name
    test = "a start from another point is a fair test of it"
    if certificate.interrupted or status == "INTERRUPTED":
        return "the run was interrupted", "Let it run to its end."
    if certificate.out_of_time or status == "TIME_LIMIT":
        return "there was no time left for a proof", "Give it more time."
    if not result.converged and status != "STALLED":
        return (
            "the solver was stopped before it had finished",
            "Let it go on (a smaller tolerance, more iterations) and certify again.",
        )
    if 0 <= certificate.relative_gap <= _CLOSE:
        gap = plain_number(100 * certificate.relative_gap, 2)
        return (
            f"a better fit is not ruled out; it would be better by {gap} % at most",
            f"Few will need more; {test}.",
        )
    if certificate.method == "lanczos" and result.angles.size >= _MANY_NODES:
        return (
            f"{result.angles.size:,} nodes are too many for the proofs that say more",
            f"The answer can still be the best there is: {test}.",
        )
    return (
        "there is too much noise for a proof, or some measurements are wrong",
        f"The answer can still be the best there is: {test}.",
    )
