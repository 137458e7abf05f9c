"""What is said of a result, in sentences: what is proved, how well the measurements fit, where the graph is weak.

Proof and fit are judged separately: the best fit to bad measurements is proved as easily as that to good ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds import METHODS
from angsync.errors import InputError
from angsync.io.failures import listed
from angsync.report.numbers import counted, plain_number, pretty_number
from angsync.report.series import component_ranks
from angsync.uncertainty.cycle_labels import bridges_of
from angsync.uncertainty.quality import EXACT, MATTERS, Quality

if TYPE_CHECKING:
    from angsync.certificate.verdict import Certificate
    from angsync.pipeline.result import SyncResult
    from angsync.pipeline.robust.report import RobustReport

MOST_CUT = 100_000
"""Measurements up to which the weakest cut is looked for: it needs an eigenvector, some seconds at this size."""
_SEVERITY = ("good", "none", "open", "bad")
_IN_A_SENTENCE = {
    "Certified optimal": "The fit is proved optimal",
    "Certified for these weights": "The fit is proved optimal for the measurements believed",
    "Undecided": "The fit is not proved optimal",
    "Not certified": "Nothing is proved about the fit",
    "Not credible": "The answer is not credible, whatever is proved of it",
}  # other headlines are what a sentence can begin with
_DOUBTS = {
    "not credible": ("Which measurements are right is not known", "which ones to believe is not known"),
    "unfinished": ("Not finished: noise not known", "the solver has not finished"),
    "refuted": ("Not the best fit: noise not known", "these are not the best phases"),
    "few": ("Noise, or some wrong measurements", ""),
}
"""For each doubt of :class:`Quality` its badge, and the end of a sentence about the noise."""
_SURE = 20.0  # degrees: error bars of phases hold up to here
_WIDE = 90.0  # degrees: single measurements of such noise say next to nothing
_SPOILT = 1.5  # noise over the width of its core, from which the far measurements rule the fit by least squares
_CLOSE = 0.01  # relative gap below which the rest matters to few: the bound is said, not the noise
_MANY_NODES = 20_000  # from which a proof by products alone may lack steps where noise is small
_NAMED = 8


_BADGES = {
    "CERTIFIED": ("good", "Certified optimal"),
    "CERTIFIED for these weights": ("good", "Certified for these weights"),
    "REFUTED": ("bad", "Refuted: a better point was found"),
    "UNDECIDED": ("open", "Undecided"),
    "NOT CREDIBLE": ("bad", "Not credible"),
    "NOT CERTIFIED": ("none", "Not certified"),
}


class Judgment(NamedTuple):
    """As its badge (good, bad, open, none), in a few words, and in sentences."""

    look: str
    headline: str
    words: str


def worse(*looks: str) -> str:
    """The look of the worst news."""
    return max(looks, key=_SEVERITY.index)


# --- what is proved ---------------------------------------------------------------------------------------------------


def judge_proof(result: SyncResult) -> Judgment:
    """What is proved about a solved problem."""
    words = certificate_in_words(
        result.certificate, component_ranks(result)[1], anchored=result.gauge == "anchors", weights=result.robust,
        result=result,
    )  # fmt: skip
    return Judgment(*_badge(result.certificate, result.robust), words)


def verdict_in_words(certificate: Certificate | None, weights: RobustReport | None) -> str:
    """The name of the verdict. It never stands alone for weights that were found, nor above an answer in doubt."""
    if weights is not None and weights.credible is False:
        return "NOT CREDIBLE"
    if certificate is None:
        return "NOT CERTIFIED"
    return certificate.verdict.name + " for these weights" * (weights is not None)


def verdict_line(result: SyncResult) -> str:
    """``CERTIFIED: ...``, ``REFUTED: ...``, ``UNDECIDED: ...``, ``NOT CERTIFIED: ...`` or ``NOT CREDIBLE: ...``."""
    certificate, weights = result.certificate, result.robust
    told = verdict_in_words(certificate, weights)
    if weights is not None and told == "NOT CREDIBLE":
        return f"{told}: {weights.note}"
    if certificate is None:
        return f"{told}: no proof was asked for, so nothing is known about how good these phases are."
    if certificate.verdict.name == "CERTIFIED":
        other = "" if certificate.unique else " Others may fit as well."
        light = _light_nodes(certificate, result)
        return f"{told}: it is proved that no other phases fit these measurements better.{other}{light}"
    if certificate.verdict.name == "REFUTED":
        return f"{told}: other phases are known that fit better, so these are not the best."
    return f"{told}: these phases are not proved to be the best fit, because {_reason(result, certificate)[0]}."


def headline(certificate: Certificate | None, weights: RobustReport | None = None) -> str:
    """The verdict in a few words."""
    return _badge(certificate, weights)[1]


def _badge(certificate: Certificate | None, weights: RobustReport | None) -> tuple[str, str]:
    """The look of the verdict, and the verdict in a few words."""
    told = verdict_in_words(certificate, weights)
    if certificate is not None and certificate.undecided_nodes and told.startswith("CERTIFIED"):
        return "open", f"Certified but for {counted(len(certificate.undecided_nodes), 'node')} of small weight"
    return _BADGES.get(told) or _BADGES[told.split()[0]]


def certificate_in_words(
    certificate: Certificate | None,
    components: int = 1,
    *,
    anchored: bool = False,
    weights: RobustReport | None = None,
    result: SyncResult | None = None,
) -> str:
    """Say in plain sentences what is proved, how, and what to do where it is not.

    ``components`` is the number of connected components. ``anchored``: anchors or priors say what the phases are
    against, so no global phase is free. ``weights``: a robust fit found the weights, so that what is proved is proved
    for these weights only. ``result``: what the certificate is of; with it the reason is known if nothing was proved.
    """
    if weights is not None and weights.credible is False:
        return (
            f"Not credible: {weights.note} Nothing that is proved about the weighted problem makes these phases right."
        )
    if certificate is None:
        return "Not certified: no certificate was asked for, so nothing is proved about this answer."
    gap = _number(certificate.gap_bound)
    if math.isfinite(certificate.relative_gap):
        gap += f" ({_number(certificate.relative_gap)} relative to the objective or the misfit, whichever is smaller)"
    verdict = certificate.verdict.name
    if verdict == "CERTIFIED":
        scope = _scope(components, anchored)
        sentences = [
            f"Proved: no assignment of phases fits better than this one by more than {gap}."
            f"{_light_nodes(certificate, result)}",
            f"The optimum is unique{scope}." if certificate.unique
            else "That the optimum is unique is not proved: another assignment may fit as well.",
            f"The proof is {proof_in_words(certificate)}.",
        ]  # fmt: skip
    elif verdict == "REFUTED":
        sentences = [
            "Refuted: a better point was found. The witness of the certificate is an assignment of phases that "
            "fits better than this one, beyond rounding, so this one is not optimal."
        ]
        if math.isfinite(certificate.gap_bound):
            sentences.append(f"The optimum exceeds this objective by at most {gap}.")
        sentences.append("Solve again from the witness, or with more effort.")
    else:
        sentences = _undecided(certificate, gap, result)
    if weights is not None:
        sentences.insert(0, "For these weights:")
    return " ".join(sentences)


def _scope(components: int, anchored: bool) -> str:
    if anchored:
        return "" if components <= 1 else ", up to one phase for each component without anchor or prior"
    return " up to " + ("a global phase" if components <= 1 else "one global phase per connected component")


def _light_nodes(certificate: Certificate, result: SyncResult | None) -> str:
    """Name the nodes that the proof leaves open, in a sentence after others; empty if there are none."""
    nodes = certificate.undecided_nodes
    if not nodes:
        return ""
    names = nodes if result is None or result.labels is None else [result.labels[node] for node in nodes]
    return (
        f" But only measurements of small weight tie {len(nodes)} node(s) to the others: the tolerance of the proof "
        f"does not decide where they belong: {listed(names)}."
    )


def _undecided(certificate: Certificate, gap: str, result: SyncResult | None) -> list[str]:
    if certificate.method == "trivial":
        return ["Undecided: nothing is measured, so that there is nothing to prove, and any phases fit as well."]
    reason, remedy = ("", "") if result is None else _reason(result, certificate)
    because = f", because {reason}. No" if reason else ", and no"
    sentences = [f"Undecided: this point is not proved to be optimal{because} better point was found."]
    if math.isfinite(certificate.gap_bound):
        sentences.append(
            f"The best bound known: the optimum exceeds this one by at most {gap}. "
            f"Certified would need a relative gap of {_number(certificate.tolerance)}."
        )
        sentences.append(
            "There was no time left for a proof; that bound is the misfit of the data." if certificate.out_of_time
            else f"That bound rests on {proof_in_words(certificate)}."
        )  # fmt: skip
    else:
        cut = ", because the run was interrupted" if certificate.interrupted else ""
        sentences.append(f"No finite bound on the distance to the optimum is known{cut}.")
    if certificate.untried:
        sentences.append(f"Not tried: {certificate.untried}.")
    return [
        *sentences,
        remedy
        or "If the solver stopped early, let it go on (a smaller tolerance, more iterations) and certify "
        "again. If it converged, the noise may be too high for this proof: the answer can still be the best there is, "
        "and a start from another point is a fair test of it.",
    ]


def _reason(result: SyncResult, certificate: Certificate) -> tuple[str, str]:
    """Why nothing is decided, in words that follow "because", and one sentence on what to do about it."""
    status = result.status.name
    test = "a start from another point is a fair test of it"
    still = f"The answer can still be the best there is: {test}."
    if certificate.method == "trivial":
        return "nothing is measured, so that any phases fit as well", "Check that no data were lost."
    if certificate.interrupted or status == "INTERRUPTED":
        return "the run was interrupted", "Let it run to its end."
    if certificate.out_of_time or status == "TIME_LIMIT":
        return "there was no time left for a proof", "Give it more time."
    if not result.converged and status != "STALLED":
        remedy = "Let it go on (a smaller tolerance, more iterations) and certify again."
        return "the solver was stopped before it had finished", remedy
    if 0 <= certificate.relative_gap <= _CLOSE:
        gap = plain_number(100 * certificate.relative_gap, 2)
        return f"a better fit is not ruled out; it would be better by {gap} % at most", f"Few will need more; {test}."
    if certificate.method == "lanczos" and result.angles.size >= _MANY_NODES:
        return f"{result.angles.size:,} nodes are too many for the proofs that say more", still
    return "there is too much noise for a proof, or some measurements are wrong", still


def proof_in_words(certificate: Certificate) -> str:
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
        return f"{how} that fails with probability at most {_number(_one_digit_up(failure))}"
    if not all(proof.deterministic for proof in used):  # 1 - p rounds to 1 when p is below the precision of a double
        return f"{how} that fails with probability below {_number(1e-15)}"
    return f"{how} (deterministic)"


def _one_digit_up(probability: float) -> float:
    """Round up to one digit, so that 'at most' stays true, but forgive the rounding of 1 - p."""
    exponent = math.floor(math.log10(probability))
    scaled = probability / 10.0**exponent
    slack = 2.3e-16 / probability  # relative rounding error of 1 - (1 - p)
    return math.ceil(scaled * (1 - slack) - 1e-12) * 10.0**exponent


# --- how well the measurements fit ------------------------------------------------------------------------------------


def judge_fit(result: SyncResult | None, quality: Quality | None, typical_error: float = math.nan) -> Judgment:
    """How well the measurements fit.

    ``typical_error`` is that of a phase in degrees: where it is small, many measurements make up for their noise.
    """
    if quality is None or result is None:
        words = "how well the measurements fit is not known: none is at hand, or none has a weight."
        return Judgment("none", "Fit not judged", words)
    words, advice = fit_in_words(quality), advice_on_fit(quality, result)
    if advice is not None:
        words = f"{words.rstrip('.')}: {advice[0].lower()}{advice[1:]}"
    noise, core = quality.noise_degrees, quality.core_degrees
    if noise is None:
        return Judgment("none", "Nothing checks the measurements", words)
    if quality.heavy_tails:
        spoilt = core is not None and noise > _SPOILT * core
        count = f"{quality.far_count:,} of {quality.count:,} measurements far off"
        return Judgment("bad" if spoilt else "open", f"Heavy tails: {count}" if spoilt else count, words)
    shown = pretty_number(noise, 3)
    if quality.doubt is not None:
        return Judgment("none", _DOUBTS[quality.doubt][0], words)
    if quality.loses_turns:
        return Judgment("good" if typical_error < _SURE else "open", f"Very noisy measurements: {shown}°", words)
    return Judgment("good", f"Measurements fit: noise {shown}°", words)


def fit_in_words(quality: Quality) -> str:
    """How well the measurements fit in one sentence, for people who do not know what a residual is."""
    text = ""
    if quality.left_out:
        be = "is" if quality.left_out == 1 else "are"
        text = f"{counted(quality.left_out, 'measurement')} {be} distrusted and left out; "
    if quality.repeated:
        verb = "repeats another" if quality.repeated == 1 else "repeat others"
        text += f"{counted(quality.repeated, 'measurement')} {verb} exactly, "
        text += "which checks nothing, and error bars take them for new ones; "
    text += _misfit_in_words(quality)
    return text[0].upper() + text[1:]


def _misfit_in_words(quality: Quality) -> str:
    rms, noise, core, far = quality.rms_degrees, quality.noise_degrees, quality.core_degrees, quality.far_count
    if noise is None or core is None:
        return "how well the measurements fit cannot be judged: no measurement is checked by others."
    if rms < math.degrees(EXACT):
        return "the measurements agree with each other exactly, up to rounding."
    text = f"the measurements miss the fit by {_degrees(rms)} (root mean square)"
    if quality.heavy_tails:
        most = f"most of them scatter by {_degrees(core)}, but " if core < min(noise / MATTERS, rms) else ""
        share = f" ({plain_number(100 * far / quality.count, 2)} %) are" if far > 1 else " is"
        allow = "noise allows" if quality.chi2_per_dof is None else "noise and the weights given allow"
        return f"{text}: {most}{far:,} of {quality.count:,}{share} further off than {allow}."
    if quality.doubt is not None and quality.doubt != "few":
        return f"{text}, but how much of that is noise cannot be said: {_DOUBTS[quality.doubt][1]}."
    if noise > _WIDE:
        return f"{text}: single measurements are mostly noise, and only a great number of them makes good phases."
    explained = f"{text}, which is what noise of {_degrees(noise)} in a typical measurement explains"
    if quality.doubt == "few":
        return f"{explained}; but so would some wrong ones: too few measurements check each other to tell them apart."
    return f"{explained}, so much that whole turns may be lost." if quality.loses_turns else f"{explained}."


def advice_on_fit(quality: Quality, result: SyncResult) -> str | None:
    """What to try where some measurements are further off than noise allows."""
    if not quality.heavy_tails:
        return None
    if not result.converged:
        return "The solver has not finished, which may be the reason: let it go on first."
    if result.certificate is not None and result.certificate.verdict.name == "REFUTED":
        return "A better fit is known, so this may be the reason: go on from the better point first."
    these = "that measurement" if quality.far_count == 1 else "those measurements"
    robust = f"ry the solver robust, which finds out whether {these} can be believed."
    if result.gauge == "anchors":
        return f"Check the anchors and priors first: wrong ones have the same effect. Then t{robust}"
    if quality.chi2_per_dof is not None:
        return f"T{robust} Weights that are not in proportion to 1 / variance have the same effect."
    return f"T{robust}"


def sentence_on_top(proof: Judgment, fit: Judgment) -> str:
    """Both judgments in one sentence: optimal and accurate are separate words."""
    first = _IN_A_SENTENCE.get(proof.headline, proof.headline)
    if not fit.words:
        return f"{first}."
    but = ", but " if proof.look == "good" and fit.look in ("open", "bad") else "; "
    return f"{first}{but}{fit.words[0].lower()}{fit.words[1:]}"


def _number(value: float) -> str:
    return plain_number(value, 3)


def _degrees(value: float) -> str:
    number = plain_number(value, 3)
    return f"{number} degree{'s' * (number != '1')}"


# --- where the graph is weak ------------------------------------------------------------------------------------------


def weak_spots(result: SyncResult, names: Sequence[object] | None = None) -> list[str]:
    """One sentence per kind of weakness, and one if there is none; empty where the measurements are not at hand.

    ``names`` are those of the nodes; their labels by default.
    """
    try:
        m = result.measurements
        if not len(m):
            return []
        found = result.connectivity() if len(m) <= MOST_CUT else None
    except InputError:
        return []
    labels = range(int(np.shape(result.angles)[0])) if result.labels is None else result.labels
    named = [*map(str, labels if names is None else names), "the ground"]  # what anchors and priors tie to
    if found is None:
        strength = np.asarray(m.strength, dtype=float)
        more = "The weakest cut of so large a graph is not looked for here: result.connectivity() finds it."
        return [*_bridges(named, m.i, m.j, bridges_of(m, strength), strength > 0), more]
    m = found.measurements
    said = _bridges(named, m.i, m.j, found.bridges, np.asarray(m.strength) > 0)
    groups = sorted((group for group in found.cut_groups if group.size > 1), key=len, reverse=True)
    if groups:
        edges = sum(group.size for group in groups)
        said.append(
            f"{counted(edges, 'measurement')} in {counted(len(groups), 'chain')} can be checked only together: an "
            f"error of one cannot be told from an error of another, as of {_edges(named, m.i, m.j, groups[0])}."
        )
    cut = found.weakest_cut_edges
    if found.weakest_cut_side.size and cut.size > 1:
        said.append(
            f"The weakest cut that was found holds {_nodes(named, found.weakest_cut_side)} to the rest by "
            f"{counted(cut.size, 'measurement')} (total weight {pretty_number(found.weakest_cut_weight, 3)}): "
            f"{_edges(named, m.i, m.j, cut)}."
        )
    return said


def _bridges(
    names: list[str], i: NDArray[np.int64], j: NDArray[np.int64], bridges: NDArray[np.int64], used: NDArray[np.bool_]
) -> list[str]:
    if not bridges.size:
        return ["No bridges: every measurement is checked by others."]
    said = [
        f"{counted(bridges.size, 'bridge')}, which nothing checks: an error of one moves all that lies behind it, and "
        f"shows nowhere: {_edges(names, i, j, bridges)}."
    ]
    degree = np.bincount(np.concatenate([i[used], j[used]]))
    hanging = np.flatnonzero(degree[: len(names) - 1] == 1)
    if hanging.size:
        verb = "hangs" if hanging.size == 1 else "hang"
        said.append(f"{_nodes(names, hanging, 'Node')} {verb} on one measurement.")
    return said


def _edges(names: list[str], i: NDArray[np.int64], j: NDArray[np.int64], edges: NDArray[np.int64]) -> str:
    return _listed([f"{names[i[k]]} – {names[j[k]]}" for k in edges[:_NAMED]], edges.size)


def _nodes(names: list[str], nodes: NDArray[np.int64], node: str = "node") -> str:
    shown = _listed([names[k] for k in nodes[:_NAMED]], nodes.size)
    return f"{node} {shown}" if nodes.size == 1 else f"{nodes.size:,} nodes ({shown})"


def _listed(names: list[str], count: int) -> str:
    return ", ".join(names) + (f" and {count - len(names):,} more" if count > len(names) else "")
