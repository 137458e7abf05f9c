r"""Do its measurements decide where a node is?

Agreement beyond chance (:mod:`.evidence`) is a statement about all measurements together. On a graph of which every
part is near to every other that is enough; where links are local, or few, single nodes and whole regions can be
elsewhere and nothing in the sum shows it. So every node is asked, with its neighbors where they are: its posterior has
the density :math:`\prod_k \bigl(p\, N(\theta - \phi_k; s_k^2) + (1 - p)/2\pi\bigr)`, :math:`\phi_k` the place that
neighbor k names, p the share of good measurements. The mass of each mode by Laplace's method says how far the node is
from where it was put, on average.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.errors import CorruptionWarning, warn_user
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.report import RobustReport
from angsync.pipeline.robust.reweighting import Fit
from angsync.problem.measurements import Measurements
from angsync.solvers.stopping import Clock

_MOST_NODES = 2000  # that are asked, evenly spread: a mean over so many is known to a few per cent
_MOST_MODES = 64  # places that are looked at: a rival mode has many members, one of which is among them
_REACH = 3.0  # deviations within which a vote belongs to a mode
_SHIFTS = 3  # steps of a vote towards the mean of its mode
_CLEAR_NATS = 12.0  # a node is decided where the votes for other places, all for one, would miss by so much
_NAMED_DEGREES = 10.0  # expected distance from which a node is named
_NAMED = 5  # nodes that a sentence names
# Mean distances up to which an answer is believed, and from which it is not. Seen on 80 random and geometric graphs of
# 100 to 500 nodes, 4 to 12 edges a node and 20 to 60 % wrong ones: where errors above 10 degrees had passed as good,
# it was 2.2 to 12, and 0.0 to 2.5 where the answer was right. Regions that are turned as one count at their rim only.
_DECIDED_DEGREES = 2.0
_LOST_DEGREES = 6.0


@dataclass(frozen=True, eq=False)
class Decided:
    """How well the nodes are decided by their measurements."""

    turn: float
    """Mean distance in degrees at which the nodes are expected."""
    loose: NDArray[np.int64]
    """Nodes that may well be elsewhere, the least decided first."""


def with_loose_nodes(
    report: RobustReport, measurements: Measurements, edges: Edges, fit: Fit, clock: Clock
) -> RobustReport:
    """The report on an answer that agrees better than chance, with what the nodes say about it."""
    decided = nodes_decided(edges, fit.z, fit.noise.scale, fit.noise.share, clock)
    if decided is None:
        unasked = "Not judged: there was no time left to ask whether the measurements decide every phase."
        return dataclasses.replace(report, credible=None, note=f"{unasked} {report.note}".strip())
    if not decided.loose.size and decided.turn <= _DECIDED_DEGREES:
        return report
    labels, first = measurements.labels, decided.loose[:_NAMED].tolist()
    named = ", ".join(str(node if labels is None else labels[node]) for node in first)
    more = ", ..." * (decided.loose.size > _NAMED)
    many = "1 phase is" if decided.loose.size == 1 else f"{decided.loose.size} phases are"
    said, credible = f"{many} not decided by the measurements ({named}{more})", report.credible
    if decided.turn > _DECIDED_DEGREES:
        credible = None if decided.turn <= _LOST_DEGREES else False
        expected = (
            f"a mean error of {decided.turn:.2g} degrees or more is to be expected from choices that they leave open"
        )
        said = f"{said}: {expected}" if first else expected
        said = f"Not judged: {said}" if credible is None else said
    if credible is False:
        warn_user(f"These phases are not credible: {said}.", CorruptionWarning)
    return dataclasses.replace(report, credible=credible, note=f"{said}. {report.note}".strip())


def nodes_decided(edges: Edges, z: NDArray, scale: float, share: float, clock: Clock) -> Decided | None:
    """Ask the nodes, or so many of them; None where there was no time. ``share``: of good measurements."""
    begin, votes, deviations = _votes(edges, z, scale)
    asked = np.flatnonzero(np.diff(begin))
    if asked.size > _MOST_NODES:
        asked = asked[np.linspace(0, asked.size - 1, _MOST_NODES).astype(np.int64)]
    share = min(max(share, 1e-3), 1 - 1e-3)
    degrees = np.zeros(asked.size)
    for place, node in enumerate(asked.tolist()):
        if clock.expired:
            return None
        part = slice(begin[node], begin[node + 1])
        degrees[place] = _expected_distance(z[node], votes[part], deviations[part], share)
    order = np.argsort(-degrees, kind="stable")
    loose = asked[order[degrees[order] > _NAMED_DEGREES]]
    return Decided(float(degrees.mean()) if asked.size else 0.0, loose)


def _votes(edges: Edges, z: NDArray, scale: float) -> tuple[NDArray[np.int64], NDArray, NDArray[np.float64]]:
    """Where neighbors put each node, by node, and the deviations; ``begin`` says where the votes of a node begin."""
    deviation = np.maximum(scale / np.sqrt(edges.precision), edges.floor)
    node = np.concatenate([edges.i, edges.j])
    vote = np.concatenate([edges.turn * z[edges.j], np.conj(edges.turn) * z[edges.i]])
    order = np.argsort(node, kind="stable")
    begin = np.searchsorted(node[order], np.arange(edges.n + 1))
    return begin, vote[order], np.concatenate([deviation, deviation])[order]


def _expected_distance(z: complex, votes: NDArray, deviations: NDArray[np.float64], share: float) -> float:
    """Mean distance in degrees from z of a node with these votes."""
    gain = np.log(share / (1 - share) * math.sqrt(2 * math.pi) / deviations)  # of a vote at its mode over a wrong one
    off = np.abs(np.angle(votes * np.conj(z))) / deviations
    others = off > 2 * _REACH
    if np.sum(gain - 0.5 * off**2, where=~others) - np.sum(np.maximum(gain, 0), where=others) > _CLEAR_NATS:
        return 0.0
    candidates = np.flatnonzero(others)
    if candidates.size > _MOST_MODES:
        candidates = candidates[np.linspace(0, candidates.size - 1, _MOST_MODES).astype(np.int64)]
    modes = np.concatenate([[z], votes[candidates]])
    for _ in range(_SHIFTS):
        residual = np.angle(votes * np.conj(modes[:, None]))
        pull = (np.abs(residual) < _REACH * deviations) / deviations**2
        modes = modes * np.exp(1j * np.sum(pull * residual, axis=1) / np.maximum(pull.sum(axis=1), 1e-300))
    residual = np.angle(votes * np.conj(modes[:, None]))
    ratio = np.exp(np.minimum(gain - 0.5 * (residual / deviations) ** 2, 700))
    curvature = np.sum((np.abs(residual) < _REACH * deviations) / deviations**2, axis=1)
    nothing = math.log(2 * math.pi)  # all votes are wrong, and the node is anywhere
    with np.errstate(divide="ignore"):  # a place without votes is no mode
        width = np.where(curvature > 0, np.minimum(0.5 * np.log(2 * np.pi / curvature), nothing), -np.inf)
    mass = np.sum(np.log1p(ratio), axis=1) + width
    kept = _apart(modes, mass, float(np.median(deviations)))
    top = max(float(mass[kept].max()), nothing)
    chance = np.exp(np.append(mass[kept], nothing) - top)
    distance = np.append(np.abs(np.angle(modes[kept] * np.conj(z))), np.pi / 2)
    return math.degrees(float(np.sum(chance * distance) / np.sum(chance)))


def _apart(modes: NDArray, mass: NDArray[np.float64], deviation: float) -> list[int]:
    """The first mode and those that are not one of the others, the heaviest first."""
    kept = [0]
    for mode in (np.argsort(-mass[1:], kind="stable") + 1).tolist():
        if np.all(np.abs(np.angle(modes[kept] * np.conj(modes[mode]))) > 2 * deviation):
            kept.append(mode)
    return kept
