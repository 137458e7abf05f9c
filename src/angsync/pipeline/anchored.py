"""Known phases and prior knowledge: the grounded problem is solved, and its phases go back to the nodes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.bounds import ProofName
from angsync.certificate.certify import certify as certify_phases
from angsync.certificate.verdict import Certificate
from angsync.circle import as_phases
from angsync.errors import InputError
from angsync.pipeline.assembly import point_at
from angsync.pipeline.call import Call
from angsync.pipeline.gauge import Grounding
from angsync.pipeline.result import SyncResult
from angsync.problem.anchoring import GROUND, Anchors, Grounded, Priors, grounded
from angsync.problem.intake import taken_in
from angsync.solvers.stopping import Callback, Progress

_KEPT = 1e-5  # how far a phase may be from its anchor: files may hold single precision
Route = Callable[[Any, Call], SyncResult]


def solve(data: Any, call: Call, solve_free: Route) -> SyncResult:
    """The problem with anchors and priors; ``solve_free`` solves the grounded problem, which has none."""
    if call.gauge != "first":
        raise InputError(
            f"anchors and priors fix the gauge, so gauge={call.gauge!r} cannot hold as well. Leave it out."
        )
    intake = taken_in(data, call.hermitian)
    measurements = intake.measured_pairs("anchors and priors need the entries of C: give a matrix or Measurements.")
    problem = grounded(measurements, call.anchors, call.priors)
    n = intake.operator.n
    start = call.about(n, intake.labels).start_for(n)
    if not isinstance(start, str):
        start = problem.to_grounded_nodes(start)
    robust = None if call.robust is None else call.robust.for_measurements(problem.kept, len(problem.measurements))
    free = dataclasses.replace(
        call, start=start, start_labels=None, gauge=GROUND, anchors=None, priors=None, robust=robust,
        callback=_told_of_given_nodes(call.callback, problem, n, intake.labels),
    )  # fmt: skip
    inner = solve_free(problem.measurements, free)
    point = point_at(intake.operator, problem.to_given_nodes(inner.z))
    note = (
        f"{len(call.anchors or {})} anchor(s) and {len(call.priors or {})} prior(s); "
        "the certificate is of the problem with them"
    )
    return dataclasses.replace(
        inner,
        z=point.z,
        objective=point.objective,
        product=point.product,
        method=f"{inner.method}; {note}",
        components=_renumbered(inner.components[problem.place]),
        gauge="anchors",
        certificate=None if inner.certificate is None else _of_given_nodes(inner.certificate, problem),
        labels=intake.labels,
        source=intake.source,
        grounding=Grounding(inner, problem),
        anchors=dict(call.anchors or {}),
        priors=dict(call.priors or {}),
        robust=None if inner.robust is None else inner.robust.for_all_measurements(problem.kept),
    )


def _told_of_given_nodes(
    callback: Callback | None, problem: Grounded, n: int, labels: tuple[Hashable, ...] | None
) -> Callback | None:
    """Return the callback, told of the phases of the given nodes in the gauge of the anchors."""
    if callback is None:
        return None

    def told(progress: Progress) -> Any:
        w = np.full(problem.measurements.n, np.nan, dtype=progress.z.dtype)
        w[progress.nodes] = progress.z
        if np.isfinite(w[problem.ground]):
            w *= np.conj(w[problem.ground])
        z = problem.to_given_nodes(w)
        nodes = np.flatnonzero(np.isfinite(z))
        return callback(dataclasses.replace(progress, z=z[nodes], nodes=nodes, n=n, labels=labels))

    return told


def certify(
    data: Any,
    z: NDArray,
    anchors: Anchors,
    priors: Priors,
    *,
    tolerance: float,
    method: ProofName,
    hermitian: Literal["full", "upper", "lower"],
) -> Certificate:
    """What can be proved about phases of the problem with anchors and priors; the phases have to keep the anchors."""
    intake = taken_in(data, hermitian)
    measurements = intake.measured_pairs("anchors and priors need the entries of C: give a matrix or Measurements.")
    problem = grounded(measurements, anchors, priors)
    phases = as_phases(z, intake.operator.n)
    away = np.where(problem.place == problem.ground, np.abs(phases - problem.phase), 0.0)
    if away.max(initial=0.0) > _KEPT:
        node = int(np.argmax(away))
        name = node if intake.labels is None else intake.labels[node]
        raise InputError(
            f"the phases do not keep the anchors: node {name!r} has the angle {np.angle(phases[node]):.6g}, its anchor "
            f"is {np.angle(problem.phase[node]):.6g}. Give the anchors that the phases were found with."
        )
    w = problem.to_grounded_nodes(phases)
    return _of_given_nodes(certify_phases(problem.measurements, w, tolerance, method), problem)


def _of_given_nodes(certificate: Certificate, problem: Grounded) -> Certificate:
    """The certificate of the grounded problem with the numbers of the given nodes."""
    nodes = np.flatnonzero(np.isin(problem.place, certificate.undecided_nodes))
    witness = certificate.witness
    if witness is not None:
        witness = problem.to_given_nodes(witness * np.conj(witness[problem.ground]))
    return dataclasses.replace(certificate, witness=witness, undecided_nodes=tuple(nodes.tolist()))


def _renumbered(components: NDArray[np.int64]) -> NDArray[np.int64]:
    """Component labels numbered by first appearance."""
    _, first, place = np.unique(components, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]
