"""The front door: check the call once, pick the route."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, overload

from numpy.typing import ArrayLike, NDArray

from angsync import kernels
from angsync.errors import InputError, names_keywords
from angsync.pipeline import plain
from angsync.pipeline.call import Call, Effort
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.settings import Robust
from angsync.pipeline.save_best import SaveBest
from angsync.problem.anchoring import Anchors, Priors
from angsync.problem.array_libraries import DATASETS, is_foreign, is_stack, is_stored, store_library
from angsync.solvers.base import Solver
from angsync.solvers.stopping import Callback, Stopping

if TYPE_CHECKING:  # loaded when a stack is solved
    from angsync.batch.result import BatchResult
    from angsync.problem.measurements import Measurements

STREAMED_MATRIX_BYTES = 1_000_000_000
"""What one matrix that is read in parts takes at most, beside the pages of its file."""


class Options(TypedDict, total=False):
    """The keywords of :func:`synchronize`."""

    solver: Solver | Robust | str
    start: str | ArrayLike | SyncResult
    stopping: Stopping | None
    certify: bool
    gauge: str | int
    callback: Callback | None
    on_failure: Literal["warn", "raise", "ignore"]
    rng: Any
    hermitian: Literal["full", "upper", "lower"]
    anchors: Anchors | None
    priors: Priors | None
    threads: int | None
    effort: Effort
    memory: int | str | None
    absent: Literal["error", "empty", "zeros"] | None


@overload
def synchronize(data: Measurements, **options: Unpack[Options]) -> SyncResult: ...
@overload
def synchronize(data: NDArray[Any], **options: Unpack[Options]) -> SyncResult | BatchResult: ...
@overload
def synchronize(data: Any, **options: Unpack[Options]) -> Any: ...
@names_keywords
def synchronize(
    data: Any,
    *,
    solver: Solver | Robust | str = "auto",
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
    effort: Effort = "normal",
    memory: int | str | None = None,
    absent: Literal["error", "empty", "zeros"] | None = None,
) -> Any:
    r"""Find the phases z, :math:`|z_j| = 1`, that maximize :math:`f(z) = z^H C z`, and certify them.

    Parameters
    ----------
    data
        Hermitian ndarray, scipy.sparse matrix, ``LinearOperator``, :class:`angsync.Measurements`, a networkx
        graph or a data frame of edges; an array of zarr, h5py, dask or xarray, which is read block by block if it is
        large. ``C[j, l]`` is near ``z_j * conj(z_l)``. A matrix of CuPy, torch or JAX stays
        where it is, and ``z`` is returned as an array of the same library. A stack of matrices is an array (..., n, n).
    solver
        ``"auto"``; ``"accelerated"``, ``"gpm"``, ``"newton"``, ``"robust"``, ``"sdp"``; or a solver with its settings,
        such as ``ang.GPM(alpha=4.0)``, which is then run literally. ``"auto"`` also leaves points that the certificate
        refutes, and does not depend on the scale of C.
    start
        ``"auto"``, ``"eigenvector"``, ``"normalized_eigenvector"``, ``"connection_laplacian"``, ``"spanning_tree"``,
        ``"multilevel"``, ``"random"``, a vector of phases, or an earlier result.
    stopping
        See :class:`angsync.Stopping`.
    certify
        Whether to prove optimality (a :class:`angsync.Certificate` in the result).
    gauge
        ``"first"`` (the first node of each component has angle 0), ``"mean"`` (the sum of z is real and
        positive in each component), or a node. The two words are words, also where a node has such a name.
    callback
        Called with a :class:`angsync.solvers.stopping.Progress` at every iterate; returning True stops.
        :class:`angsync.SaveBest` saves the best phases of a long solve in a file.
    on_failure
        What to do when the tolerance was not met, or nothing is measured: ``"warn"``, ``"raise"`` (the result is in
        the exception) or ``"ignore"``.
    rng
        Seed or numpy Generator; the same input and seed give bitwise the same result.
    hermitian
        ``"full"``: the matrix is given in full and checked; where its triangles differ by rounding, the upper one is
        the problem. ``"upper"`` / ``"lower"``: only that triangle is read.
    anchors
        ``{node: angle}``: nodes whose phase is known. They fix the gauge, so ``gauge`` is not given as well.
    priors
        ``{node: (angle, weight)}``: nodes whose phase is known with a variance of ``sigma**2 / weight``. With anchors
        or priors, ``certificate`` and ``history`` are about the problem with them, ``objective`` about the C given.
    threads
        How many threads the compiled kernels (and BLAS, where threadpoolctl is installed) may use; None for what
        ANGSYNC_NUM_THREADS or OMP_NUM_THREADS say, or all cores. The same bits come out for the same number, in a
        forked process too. The kernels over graphs and stacks give the same bits for any number.
    effort
        What is done about a problem that is not proved optimal (a proved one costs the same whatever this says):
        ``"low"``: nothing, the point of one run and its bound; ``"normal"``: further starts, as far as they usually
        pay, and the bound; ``"high"``: more of them, every way out of the point that is known, and the semidefinite
        relaxation of larger problems. ``certificate.untried`` says what was left out, and
        ``Stopping(max_seconds=...)`` ends any of it.
    memory
        For a stack of xarray, dask or zarr: how much of it may be in memory at once, as a number of bytes or ``"1GB"``;
        half of what is free unless given.
    absent
        What a chunk of a zarr array is that its store does not hold, which would be read as the fill value: an
        ``"error"`` that names it; ``"empty"``: problems of a stack that need it have the status NO_DATA; ``"zeros"``:
        it holds nothing but zeros and was not written. Unless given, ``"empty"`` for a stack of zarr, or of xarray and
        dask that is nothing but a part of one, and ``"error"`` for all else.

    Returns
    -------
    SyncResult
        For one problem. ``print`` shows the phases with their error bars.
    BatchResult
        For a stack of matrices in memory, or of h5py (:mod:`angsync.batch`).
    xarray.Dataset
        For a stack of xarray, dask or zarr (:mod:`angsync.batch.dataset`): lazy if dask is installed, otherwise
        computed.

    Examples
    --------
    >>> edges = ang.Measurements([0, 1, 2], [1, 2, 0], angle=[0.30, 0.50, -0.79])
    >>> result = ang.synchronize(edges)
    >>> result.angles.round(3), result.certificate.verdict.name
    (array([ 0.   , -0.297, -0.793]), 'CERTIFIED')
    >>> result.standard_errors().round(3)  # radians, against node 0
    array([0.   , 0.005, 0.005])
    """
    call = Call.checked(
        solver=solver, start=start, stopping=stopping, certify=certify, gauge=gauge, callback=callback,
        on_failure=on_failure, rng=rng, hermitian=hermitian, anchors=anchors, priors=priors, threads=threads,
        effort=effort, memory=memory, absent=absent,
    )  # fmt: skip
    if call.threads is None:
        return _by_its_route(data, call)
    with kernels.limited(call.threads):
        return _by_its_route(data, call)


# Each route is loaded when a call takes it.


def _by_its_route(data: Any, call: Call) -> Any:
    if call.memory is not None:
        _check_memory(data, call.memory)
    if call.absent is not None:
        data = _about_absent(data, call)
    if isinstance(call.callback, SaveBest):
        _check_saved(data, call)
    if is_stack(data):
        from angsync.batch import stack

        return stack.solve(data, call)
    if is_foreign(data):
        from angsync.pipeline import foreign

        return foreign.solve(data, call, _solve_one)
    return _solve_one(data, call)


def _check_saved(data: Any, call: Call) -> None:
    """Refuse :class:`SaveBest` if the iterates are not phases of the problem that the call is about."""
    from angsync.solvers import LowRankSDP

    kind = None
    if is_stack(data):
        kind = "a stack"
    elif is_foreign(data):
        kind = "arrays of CuPy, torch or JAX"
    elif call.robust is not None or isinstance(call.solver, LowRankSDP):
        kind = "Robust" if call.robust is not None else "LowRankSDP"
    if kind is not None:
        raise InputError(
            f"SaveBest (--save-best) saves the phases of one least-squares problem, not of {kind}. Leave it out: "
            "stacks on disk are resumed chunk by chunk (--resume), and max_seconds and Ctrl-C keep the best phases."
        )


def _check_memory(data: Any, memory: int) -> None:
    """Refuse ``memory=`` where nothing would come of it."""
    if is_stack(data) and store_library(data) in DATASETS:
        return
    if not is_stack(data) and is_stored(data) and memory >= STREAMED_MATRIX_BYTES:
        return
    if not is_stack(data) and is_stored(data):
        raise InputError(
            f"memory is {memory} bytes, but a matrix that is read in parts takes up to 1 GB: give it that."
        )
    raise InputError(
        "memory is for arrays that are read in parts: a stack of xarray, dask or zarr, or a stored matrix. Leave it "
        "out: what is in memory stays there, and a stack of h5py or a memory map is read in blocks of at most 256 MB."
    )


def _about_absent(data: Any, call: Call) -> Any:
    """Refuse ``absent=`` where nothing would come of it; one matrix is told at once."""
    if store_library(data) not in DATASETS:
        raise InputError("absent is for arrays of zarr, dask or xarray, whose chunks may not be there. Leave it out.")
    if not is_stored(data):
        raise InputError("the array is in memory already: which of its chunks were there is not known. Leave it out.")
    if is_stack(data):
        return data
    from angsync.problem.stored import StoredArray

    return StoredArray(data, call.hermitian, call.absent)


def _solve_one(data: Any, call: Call) -> SyncResult:
    """One problem in the memory of the host, or known by its products."""
    if call.anchors or call.priors:
        from angsync.pipeline import anchored

        return anchored.solve(data, call, _solve_free)
    return _solve_free(data, call)


def _solve_free(data: Any, call: Call) -> SyncResult:
    """The same without anchors."""
    if call.robust is not None:
        from angsync.pipeline.robust.solve import solve as solve_robustly

        return solve_robustly(data, call, call.robust)
    return plain.solve(data, call)
