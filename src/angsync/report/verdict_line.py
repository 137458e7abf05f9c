"""The verdict as the first line that people read: one word and one plain sentence."""

from __future__ import annotations

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
        return f"{told}: it is proved that no other phases fit these measurements better.{other}"
    if name == "REFUTED":
        return f"{told}: other phases are known that fit better, so these are not the best."
    return f"{told}: these phases are not proved to be the best fit, because {why_undecided(result, certificate)}."


def why_undecided(result: ReportedResult, certificate: ReportedCertificate) -> str:
    """The reason, in words that follow "because"."""
    status = result.status.name
    if certificate.interrupted or status == "INTERRUPTED":
        return "the run was interrupted"
    if certificate.out_of_time or status == "TIME_LIMIT":
        return "there was no time left for a proof"
    if not result.converged and status != "STALLED":
        return "the solver was stopped before it had finished"
    if 0 <= certificate.relative_gap <= _CLOSE:
        gap = plain_number(100 * certificate.relative_gap, 2)
        return f"a better fit is not ruled out; it would be better by {gap} % at most"
    if certificate.method == "lanczos" and result.angles.size >= _MANY_NODES:
        return f"{result.angles.size:,} nodes are too many for the proofs that say more"
    return "there is too much noise for a proof, or some measurements are wrong"
