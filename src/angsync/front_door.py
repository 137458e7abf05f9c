"""The front door: data in, one frozen result out."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from angsync import kernels
from angsync.batch.stack import from_front_door
from angsync.certificate.verdict import Certificate, rescaled
from angsync.circle import as_phases
from angsync.errors import InputError
from angsync.pipeline.assembly import (
    Units,
    merged,
    message,
    method_of,
    one_certificate,
    report_failure,
    report_pieces,
    settler,
)
from angsync.pipeline.component import (
    Request,
    Solved,
    is_worth_saving,
    solve_component,
    turned_product,
)
from angsync.pipeline.foreign import synchronize_foreign
from angsync.pipeline.multistart import combined, same_objective
from angsync.pipeline.one_call import in_one_call
from angsync.pipeline.result import Grounding, SyncResult, in_gauge, reference_nodes
from angsync.pipeline.robust.settings import Robust
from angsync.pipeline.robust.solve import synchronize_robustly
from angsync.problem import interop
from angsync.problem.anchoring import GROUND, Anchors, Priors, grounded
from angsync.problem.arrays import is_foreign
from angsync.problem.components import component_indices, normalised
from angsync.problem.measure import objective_and_residual, rounding_floor
from angsync.problem.measurements import Measurements
from angsync.problem.operators import (
    DenseOperator,
    HermitianOperator,
    Operator,
    ScaledOperator,
    SparseOperator,
    as_operator,
    component_labels,
    normalising_exponent,
    restrict,
)
from angsync.problem.ordering import better_order
from angsync.problem.randomness import random_generator
from angsync.solvers import GPM
from angsync.solvers.base import Solver
from angsync.solvers.loop import Outcome
from angsync.solvers.starts.names import OFFERED
from angsync.solvers.stopping import Callback, Clock, History, Status, Stopping

_SPARSE_SHARE = 0.1  # an array with fewer entries than this share is treated as sparse

# from the most to the least urgent: what the whole says when its components differ
_URGENCY = (
    Status.INTERRUPTED,
    Status.STOPPED_BY_CALLBACK,
    Status.TIME_LIMIT,
    Status.ITERATION_LIMIT,
    Status.STALLED,
    Status.CONVERGED,
)


def synchronize(
    data: Any,
    *,
    solver: Solver | Robust | Literal["auto"] = "auto",
    start: str | ArrayLike | SyncResult = "auto",
    stopping: Stopping | None = None,
    certify: bool = True,
    gauge: str | int = "first",
    callback: Callback | None = None,
    on_failure: Literal["warn", "raise", "ignore"] = "warn",
    rng: Any = 0,
    hermitian: Literal["full", "upper", "lower"] = "full",
    anchors: Anchors | None = None,
    priors: Priors | None = None,
    threads: int | None = None,
) -> SyncResult:
    r"""Find the phases z, :math:`|z_j| = 1`, that maximise :math:`f(z) = z^H C z`, and certify them.

    Parameters
    ----------
    data
        Hermitian ndarray, scipy.sparse matrix, ``LinearOperator``, :class:`angsync.Measurements`, a networkx
        graph or a data frame of edges. ``C[j, l]`` is near ``z_j * conj(z_l)``. A matrix of CuPy, torch or JAX stays
        where it is, and ``z`` is given back as an array of the same library. A stack of matrices, an array (..., n, n),
        gives a :class:`angsync.batch.BatchResult` (:mod:`angsync.batch`).
    solver
        ``"auto"``, or a solver such as ``ang.GPM(alpha=4.0)``, which is then run literally. ``"auto"`` also
        leaves points that the certificate refutes, and does not depend on the scale of C.
    start
        ``"auto"``, ``"eigenvector"``, ``"normalised_eigenvector"``, ``"connection_laplacian"``, ``"spanning_tree"``,
        ``"multilevel"``, ``"random"``, a vector of phases, or an earlier result.
    stopping
        See :class:`angsync.Stopping`.
    certify
        Whether to prove optimality (a :class:`angsync.Certificate` in the result).
    gauge
        ``"first"`` (the first node of each component has angle 0), ``"mean"`` (the sum of z is real and
        positive in each component), or a node.
    callback
        Called with a :class:`angsync.solvers.stopping.Progress` at every iterate; returning True stops.
    on_failure
        What to do when the tolerance was not met: ``"warn"``, ``"raise"`` (the result is in the exception)
        or ``"ignore"``.
    rng
        Seed or numpy Generator; the same input and seed give bitwise the same result.
    hermitian
        ``"full"``: the matrix is given in full and checked. ``"upper"`` / ``"lower"``: only that triangle is read.
    anchors
        ``{node: angle}``: nodes whose phase is known. They fix the gauge, so ``gauge`` is not given as well.
    priors
        ``{node: (angle, weight)}``: nodes whose phase is known with a variance of ``sigma**2 / weight``. With anchors
        or priors, ``certificate`` and ``history`` are about the problem with them, ``objective`` about the C given.
    threads
        How many threads the compiled kernels (and BLAS, where threadpoolctl is installed) may use; None for what
        ANGSYNC_NUM_THREADS or OMP_NUM_THREADS say, or all cores. The same bits come out for the same number.
    """
    _check_kinds(stopping, callback, anchors, priors)
    if threads is not None:
        options = {**locals(), "threads": None}
        if isinstance(threads, bool) or not isinstance(threads, (int, np.integer)) or threads < 1:
            raise InputError(f"threads must be a whole number, 1 or more, but it is {threads!r}.")
        with kernels.limited(int(threads)):
            return synchronize(options.pop("data"), **options)
    if getattr(data, "ndim", 2) > 2:
        return from_front_door(**locals())
    if is_foreign(data):
        return synchronize_foreign(synchronize, **locals())
    if anchors or priors:
        options = {"solver": solver, "stopping": stopping, "certify": certify, "callback": callback,
                   "on_failure": on_failure, "rng": rng}  # fmt: skip
        return _anchored(data, anchors, priors, start, gauge, hermitian, options)
    if isinstance(solver, Robust):
        return synchronize_robustly(
            synchronize, data, solver, start=start, stopping=stopping, certify=certify, gauge=gauge, callback=callback,
            on_failure=on_failure, rng=rng, hermitian=hermitian,
        )  # fmt: skip
    stopping = Stopping() if stopping is None else stopping
    clock = Clock(stopping.max_seconds)
    _check_choices(solver, start, on_failure)
    operator, source, labels = _prepare(data, hermitian)
    if isinstance(solver, str) and callback is None and gauge == "first" and isinstance(start, str) and start == "auto":
        result = in_one_call(operator, stopping, bool(certify), rng, clock)
        if result is not None:
            return result
    components = component_labels(operator)
    if components is None:
        components = np.zeros(operator.n, dtype=np.int64)
    # GPM with a finite alpha depends on the scale of C; asked for by name, it gets C as it is.
    literal = isinstance(solver, GPM)
    request = Request(
        solver=None if isinstance(solver, str) else solver,
        start=_given_start(start, operator.n),
        stopping=stopping,
        certify=certify,
        callback=callback,
        clock=clock,
        rng=random_generator(rng),
    )
    # a wrong gauge is found before the work, not after
    references = reference_nodes(components, "first" if gauge == "mean" else gauge, labels)
    report_pieces(components, labels)

    z = np.ones(operator.n, dtype=operator.dtype)
    indices = [index for index in component_indices(components) if index.size > 1]
    parts: list[Solved] = []
    histories: list[History] = []
    last: Outcome | None = None  # of one large dense problem, whose last product need not be computed again
    tried: list[tuple[float, NDArray[np.float64] | None]] = []
    certificates: list[Certificate] = []
    for place, index in enumerate(indices):
        given = operator if index.size == operator.n else restrict(operator, index)
        order = better_order(given)
        if order is not None:
            indices[place] = index = index[order]
            given = restrict(given, order)
        part = normalised(given)
        units = Units() if literal else Units.of(given, part)
        own = dataclasses.replace(
            request,
            start=request.start if isinstance(request.start, str) else request.start[index],
            callback=units.restored_for(callback, order),
            settle=settler(index, gauge if gauge == "mean" else int(references[components[index[0]]])),
        )
        solved = solve_component(given if literal else part, part, own, int(components[index[0]]))
        z[index] = solved.outcome.z
        if part.base is operator and not literal and is_worth_saving(part, solved.outcome):
            last = solved.outcome
        parts.append(solved)
        history = solved.outcome.history
        histories.append(dataclasses.replace(history, objective=units.restored(history.objective)))
        starts = None if solved.starts is None else units.restored(np.array(solved.starts))
        tried.append((float(units.restored(np.array(solved.outcome.objective))), starts))
        if solved.certificate is not None:
            certificates.append(rescaled(solved.certificate, part.exponent))
        if solved.outcome.status in (Status.INTERRUPTED, Status.STOPPED_BY_CALLBACK):
            break

    z = in_gauge(z, components, gauge, labels)
    product, objective, residual = _final_values(operator, z, None if last is None else turned_product(last, z))
    status = min((part.outcome.status for part in parts), key=_URGENCY.index, default=Status.CONVERGED)
    result = SyncResult(
        z=z,
        objective=objective,
        residual=residual,
        status=status,
        message=message(status, components, labels, len(parts) < len(indices)),
        iterations=max((part.outcome.iterations for part in parts), default=0),
        matvecs=sum(part.matvecs for part in parts),
        seconds=clock.seconds,
        history=merged(histories),
        certificate=one_certificate(certificates, indices, z) if certify else None,
        method=method_of(parts, operator.n),
        components=components,
        tolerance=stopping.tolerance_for(operator.dtype),
        gauge=gauge,
        labels=labels,
        product=product,
        source=source,
        starts=combined(tried, same_objective(operator.dtype)),
    )
    report_failure(result, on_failure)
    return result


def _anchored(
    data: Any,
    anchors: Anchors | None,
    priors: Priors | None,
    start: Any,
    gauge: str | int,
    hermitian: Literal["full", "upper", "lower"],
    options: dict[str, Any],
) -> SyncResult:
    """Solve the grounded problem and give its phases back to the nodes."""
    if gauge != "first":
        raise InputError(f"anchors and priors fix the gauge, so gauge={gauge!r} cannot hold as well. Leave it out.")
    operator, source, labels = _prepare(data, hermitian)
    if source is None:
        raise InputError("anchors and priors need the entries of C: give a matrix or Measurements.")
    measurements = source if isinstance(source, Measurements) else Measurements.from_matrix(source, labels=labels)
    problem = grounded(measurements, anchors, priors)
    if not isinstance(start, str):
        start = problem.gathered(start.z if isinstance(start, SyncResult) else start, operator.n)
    inner = synchronize(problem.measurements, start=start, gauge=GROUND, **options)  # type: ignore[arg-type]
    z = problem.spread(inner.z)
    product, objective, _ = _final_values(operator, z)
    note = (
        f"{len(anchors or {})} anchor(s) and {len(priors or {})} prior(s); the certificate is of the problem with them"
    )
    return dataclasses.replace(
        inner,
        z=z,
        objective=objective,
        product=product,
        method=f"{inner.method}; {note}",
        components=_renumbered(inner.components[problem.place]),
        gauge="anchors",
        labels=labels,
        source=source,
        grounding=Grounding(inner, problem),
        robust=None if inner.robust is None else inner.robust.spread(problem.kept),
    )


def _renumbered(components: NDArray[np.int64]) -> NDArray[np.int64]:
    """Component labels numbered by first appearance."""
    _, first, place = np.unique(components, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[place]


def _check_kinds(stopping: Any, callback: Any, anchors: Any, priors: Any) -> None:
    if stopping is not None and not isinstance(stopping, Stopping):
        raise InputError(f"stopping must be ang.Stopping(tolerance=...), but it is {stopping!r}.")
    if callback is not None and not callable(callback):
        raise InputError(f"callback must be a function of the progress, but it is {callback!r}.")
    for name, given, value in (("anchors", anchors, "angle"), ("priors", priors, "(angle, weight)")):
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"{name} must be a dictionary {{node: {value}}}, but it is {given!r}.")


def _check_choices(solver: Any, start: Any, on_failure: str) -> None:
    if isinstance(solver, str) and solver != "auto":
        raise InputError(f"solver must be 'auto' or a solver such as ang.GPM(alpha=4.0), but it is {solver!r}.")
    if not isinstance(solver, str) and not isinstance(solver, Solver):
        raise InputError(f"solver must have init and step, which {solver!r} has not.")
    if isinstance(solver, type):
        raise InputError(f"solver must be an instance: {solver.__name__}() instead of {solver.__name__}.")
    if isinstance(start, str) and start not in ("auto", *OFFERED):
        raise InputError(f"start must be 'auto', {', '.join(map(repr, OFFERED))}, phases or a result, not {start!r}.")
    if on_failure not in ("warn", "raise", "ignore"):
        raise InputError(f"on_failure must be 'warn', 'raise' or 'ignore', but it is {on_failure!r}.")


def _prepare(
    data: Any, hermitian: Literal["full", "upper", "lower"]
) -> tuple[Operator, Any, tuple[Hashable, ...] | None]:
    """The operator, what the pairs can be read from later, and the labels."""
    if type(data) is not np.ndarray:  # the usual case: none of these
        if isinstance(data, (str, bytes, os.PathLike)):
            raise InputError(f"{data!r} is a path: read it first, ang.synchronize(ang.read(path)).")
        if interop.is_networkx(data):
            data = Measurements.from_networkx(data)
        elif not isinstance(data, Measurements) and interop.is_dataframe(data):
            data = Measurements.from_dataframe(data)
    operator = as_operator(data, hermitian)
    if isinstance(data, Measurements):
        return operator, data, data.labels
    if isinstance(operator, DenseOperator) and _is_mostly_zero(operator.matrix):
        # a graph stored as a full array: its products and its spanning trees are those of a sparse matrix
        operator = SparseOperator(scipy.sparse.csr_array(operator.matrix))
    return operator, operator.matrix if isinstance(operator, (DenseOperator, SparseOperator)) else None, None


def _is_mostly_zero(matrix: NDArray) -> bool:
    """Whether fewer entries than ``_SPARSE_SHARE`` are present; a full matrix is recognised by a few rows."""
    n = matrix.shape[0]
    some = matrix[:: max(1, n // 16)]
    if np.count_nonzero(some) > 0.5 * some.size:
        return False
    return np.count_nonzero(matrix) < _SPARSE_SHARE * n**2


def _given_start(start: Any, n: int) -> str | NDArray:
    if isinstance(start, str):
        return start
    return as_phases(start.phases if isinstance(start, SyncResult) else start, n, name="start")


def _final_values(
    operator: HermitianOperator, z: NDArray, known: NDArray | None = None
) -> tuple[NDArray, float, float]:
    """C z, f(z) and the residual at the point returned, in double precision whatever the problem's precision.

    ``known`` is the product already, scaled as the solver scales C.
    """
    wide = z.astype(np.complex128)
    wide /= np.abs(wide)
    scaled = ScaledOperator(operator, normalising_exponent(operator))
    product = scaled.apply(wide) if known is None else known
    objective, residual = objective_and_residual(wide, product, rounding_floor(scaled))
    return ScaledOperator(operator, -scaled.exponent).scaled(product), math.ldexp(objective, scaled.exponent), residual
