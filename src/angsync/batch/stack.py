r"""Many small problems in one call: a stack (..., n, n) in, arrays (...) out.

The problems are solved in C, several at a time, and never know of each other: the answer of one has the same bits
wherever it stands in the stack. What is done to each is in :mod:`angsync.kernels.batch.reference`.

The certificate of a batch is CERTIFIED or UNDECIDED: a lower bound on S(z) over the complement of z by Cholesky
factorization, and the gap of :mod:`angsync.certificate.gap` from it. Problems that are UNDECIDED after one run get
further starts (:mod:`angsync.batch.further`), and the best point is kept, so nothing is ever REFUTED.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync import kernels
from angsync.batch import input as batch_input
from angsync.batch.call import POWER_STEPS, TRIANGLES, StackCall
from angsync.batch.further import Part, Search
from angsync.batch.pieces import in_words, settle_status
from angsync.batch.result import BatchResult, BatchStatus
from angsync.batch.source import Problems, Source
from angsync.certificate.stacked import certificates, whole_only
from angsync.errors import (
    ConvergenceError,
    ConvergenceWarning,
    DisconnectedWarning,
    InputError,
    names_keywords,
    warn_user,
)
from angsync.kernels.batch.numbers import (
    FIELDS,
    MAX_ORDER,
    PROVE_ALL,
    PROVE_DOUBTFUL,
    BatchNumbers,
    BatchOptions,
    chirp,
)
from angsync.pipeline.call import Call, Effort, Seed
from angsync.pipeline.tried_starts import same_objective
from angsync.problem.array_libraries import (
    DATASETS,
    dtype_name,
    from_numpy,
    is_foreign,
    namespace,
    on_cuda,
    store_library,
    to_numpy,
)
from angsync.solvers.stopping import Stopping

GPM_STEPS = 6  # power steps after which Newton steps take over in any case
_PROOF_TOLERANCE = 5e-7  # residual of single precision where a proof follows: its gap is of second order in it
PROOFS: dict[str, Any] = {"verdict": np.int8, "gap_bound": float, "relative_gap": float, "lambda_2": float}
_NOT_REACHED: dict[str, Any] = {"status": BatchStatus.INTERRUPTED, "iterations": 0, "components": 0, "verdict": 1}
"""What is written for problems that were not reached; otherwise NaN."""


def solve(data: Any, call: Call) -> Any:
    """What ``ang.synchronize`` does with a stack: options that mean nothing for a stack are refused."""
    not_for_stacks = {
        "solver": call.solver is not None or call.robust is not None,
        "start": not call.is_free_to_start_anywhere,
        "callback": call.callback is not None,
        "anchors": call.anchors is not None,
        "priors": call.priors is not None,
    }
    for name, given in not_for_stacks.items():
        if given:
            raise InputError(
                f"{name} is not for a stack of problems: leave it out, or solve one problem at a time, "
                "[ang.synchronize(C) for C in stack]."
            )
    own = StackCall(
        call.stopping, call.certify, call.gauge, call.on_failure, call.hermitian, effort=call.effort, seed=call.seed
    )
    if store_library(data) in DATASETS:
        from angsync.batch import dataset

        return dataset.solve(data, own, call.threads, call.memory, call.absent)
    if is_foreign(data) and on_cuda(data):
        from angsync.batch.on_device import solve_where_it_lies

        result, troubled = solve_where_it_lies(data, own)
        return reported(_improved_on_the_host(data, result, own), own) if troubled else result
    return reported(solve_stack(data, own), own)


@names_keywords
def synchronize_stack(
    stack: Any,
    *,
    weights: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    stopping: Stopping | None = None,
    certify: bool = True,
    gauge: str | int = "first",
    on_failure: Literal["warn", "raise", "ignore"] = "warn",
    hermitian: Literal["full", "upper", "lower"] = "full",
    power_steps: int = POWER_STEPS,
    callback: Callable[[int, int], object] | None = None,
    effort: Effort = "normal",
    rng: Any = 0,
) -> BatchResult:
    r"""Solve every problem of a stack; the same as :func:`angsync.synchronize` on an array with three or more axes.

    Parameters
    ----------
    stack
        Array (..., n, n). complex64 is solved in single precision. It may be read-only, not contiguous or a memory map:
        about 32 MB, or 1024 problems where those are more, are copied at a time. In a masked array, what is masked in
        either triangle is absent, and a node whose whole row is masked is left out.
    weights
        Array (..., n, n) of real numbers, or one that broadcasts to it: the problems are ``weights * stack``.
    mask
        Array (..., n) of booleans, or one that broadcasts to it; True marks nodes to leave out. Their entries in the
        stack are not looked at, so they may be NaN, and their phase comes back as NaN.
    stopping
        Tolerance and ``max_iterations``, the latter for each problem.
    certify
        Whether to bound the gap of each problem.
    gauge
        ``"first"``: the first node that has measurements gets angle 0. ``"mean"``: the sum of z is positive. A number:
        that node gets angle 0, where it has measurements. A problem in several pieces has a gauge in each of them,
        of its first node where a node is named that lies elsewhere.
    on_failure
        What to do, once, when some problems did not converge or are not finite. Problems without measurements
        (status EMPTY) or in several pieces (DISCONNECTED) are warned about, unless this is ``"ignore"``.
    hermitian
        ``"full"``: both triangles are compared, and the upper one is used. ``"upper"``, ``"lower"``: only that is read.
    power_steps
        Products with C before the first phases are taken.
    callback
        Called after every block of problems with how many are done and how many there are; True ends the call.
    effort
        What is done about problems that one run leaves open: ``"low"`` nothing, ``"normal"`` up to 24 further starts,
        until the best optimum was found five times, ``"high"`` up to 80, until ten times. Only a larger objective is
        taken. With ``certify=False`` this is done where the objective is small beside the data.
    rng
        Seed or numpy Generator of the further starts: the same seed gives the same bits.

    Ctrl-C, like a callback that returns True, ends the call with what is done: the other problems have the status
    INTERRUPTED. They have NaN everywhere else, or the phases of their first run if only further starts are missing.

    Examples
    --------
    >>> stack = np.stack([ang.simulate.gaussian(8, 0.3, rng=seed).C for seed in range(5)])
    >>> ang.batch.synchronize_stack(stack).angles.shape
    (5, 8)
    """
    stopping = Stopping() if stopping is None else stopping
    call = StackCall(
        stopping, certify, gauge, on_failure, hermitian, power_steps, callback, effort, Seed(rng)
    )  # fmt: skip
    return reported(solve_stack(stack, call, weights, mask), call)


def reported(result: BatchResult, call: StackCall) -> BatchResult:
    """The result, after saying what did not converge in it, and what is in several pieces."""
    pieces = "" if result.components is None else in_words(to_numpy(result.status), to_numpy(result.components))
    if pieces and call.on_failure != "ignore":
        warn_user(pieces, DisconnectedWarning)
    text = result.failures()
    if text and call.on_failure == "raise":
        raise ConvergenceError(text, result)
    if text and call.on_failure == "warn":
        warn_user(text, ConvergenceWarning)
    return result


def solve_stack(
    stack: Any, call: StackCall, weights: ArrayLike | None = None, mask: ArrayLike | None = None
) -> BatchResult:
    """Block by block, in the memory of the host."""
    begin = time.perf_counter()
    source = Source.of(stack, weights, mask, call.hermitian)
    leading, n, dtype = source.leading, source.n, source.dtype
    gauge = call.gauge_code(n)
    count = math.prod(leading)
    z = np.empty((count, n), dtype=dtype)
    numbers = BatchNumbers.of(count)
    proofs = {name: np.empty(count, dtype=kind) for name, kind in (PROOFS if call.certify else {}).items()}
    done, scratch = 0, np.empty((len(FIELDS), 0))
    search = Search(call.effort, call.seed, n)
    try:
        for part in source.blocks() if n <= MAX_ORDER else _singles(count):
            problems = source.take(part)
            if scratch.shape[1] != len(problems.C):
                scratch = np.zeros((len(FIELDS), len(problems.C)))
            found = _solve_part(problems, z[part], numbers.part(part), scratch, call, gauge, (part.start, leading))
            for name, values in proofs.items():
                values[part] = found[name]
            own = Part(problems.C, z[part], numbers.part(part), scratch, _options(dtype, call, gauge))
            written = {name: values[part] for name, values in proofs.items()}
            which = search.open(own, written)
            status = own.numbers.status[which]
            own.numbers.status[which] = BatchStatus.INTERRUPTED  # until their further starts are over
            done = part.stop
            if which.size:
                _look_further(search, own, which, status, problems.out, written)
            if call.callback is not None and call.callback(done, count):
                break
    except KeyboardInterrupt:
        if done == count and not (numbers.status == BatchStatus.INTERRUPTED).any():
            raise  # nothing is missing: what it ends is the work of the caller
    z[done:] = np.nan
    kept = numbers._asdict() | proofs
    for name, values in kept.items():
        values[done:] = _NOT_REACHED.get(name, np.nan)
    return BatchResult(
        z=z.reshape(*leading, n),
        tolerance=call.stopping.tolerance_for(dtype),
        gauge=call.gauge,
        seconds=time.perf_counter() - begin,
        source=source,
        **{name: values.reshape(leading) for name, values in kept.items()},
    )


def _improved_on_the_host(data: Any, result: BatchResult, call: StackCall) -> BatchResult:
    """What a device solved, with the problems that it left open solved again on the host, where further starts follow.

    Without certificates a device makes one run. Where nothing is better, the arrays stay where they are.
    """
    n = result.n
    if call.effort == "low" or result.verdict is None or not 2 < n <= MAX_ORDER:
        return result
    assert result.gap_bound is not None
    same = same_objective(np.dtype(dtype_name(data)))
    gap, f = to_numpy(result.gap_bound).ravel(), to_numpy(result.objective).ravel()
    which = np.flatnonzero((gap > same * np.abs(f)) & (to_numpy(result.verdict).ravel() != 0))
    if which.size == 0:
        return result
    chosen = namespace(data).reshape(data, (-1, n, n))[from_numpy(which, data)]
    found = solve_stack(to_numpy(chosen), replace(call, callback=None))
    better = found.objective > f[which] + same * np.abs(f[which])
    unfinished = found.status == BatchStatus.INTERRUPTED
    if not (better | unfinished).any():
        return result
    changed: dict[str, Any] = {}
    for name in ("z", *BatchNumbers._fields, *PROOFS):
        array = vars(result)[name]
        copy = np.array(to_numpy(array)).reshape(-1, n) if name == "z" else np.array(to_numpy(array)).ravel()
        copy[which[better]] = vars(found)[name][better]
        if name == "status":
            copy[which[unfinished]] = BatchStatus.INTERRUPTED
        changed[name] = from_numpy(copy.reshape(array.shape), data)
    return replace(result, **changed)


def _singles(count: int) -> Iterator[slice]:
    return (slice(k, k + 1) for k in range(count))


def _solve_part(
    problems: Problems,
    z: NDArray,
    numbers: BatchNumbers,
    found: NDArray[np.float64],
    call: StackCall,
    gauge: int,
    place: tuple[int, tuple[int, ...]],
) -> dict[str, Any]:
    """Solve one part: write into ``z``, ``numbers`` and ``found``, and return what is proved, by name.

    ``place``: where the part begins in the stack, and the stack's shape.
    """
    C, out = problems
    n = C.shape[1]
    if n > MAX_ORDER:
        from angsync.batch.one_by_one import solve_alone

        proofs = solve_alone(C[0], z, numbers, call)
    elif n == 1:
        z[:], found[:] = 1, 0
        numbers.objective[:], numbers.residual[:], numbers.iterations[:] = C[:, 0, 0].real, 0, 0
        finite = np.isfinite(C[:, 0, 0])
        numbers.status[:] = np.where(finite, BatchStatus.CONVERGED, BatchStatus.NOT_FINITE)
        numbers.components[:] = finite
    else:
        options = _options(C.dtype, call, gauge)
        suspects = kernels.solve_batch(C, chirp(n).astype(np.complex128), z, numbers, found, options)
        if suspects:
            finite = numbers.status != BatchStatus.NOT_FINITE
            batch_input.check_hermitian(C, found, finite, *place, call.hermitian, call.origin)
    _leave_out(out, z, numbers)
    if not call.certify:
        return {}
    if n > MAX_ORDER:
        return whole_only(proofs, numbers.components)
    return _claims(numbers, found, n)


def _options(dtype: np.dtype[Any], call: StackCall, gauge: int) -> BatchOptions:
    tolerance = call.stopping.tolerance_for(dtype)
    return BatchOptions(
        power_steps=call.power_steps,
        gpm_steps=GPM_STEPS,
        max_iterations=call.stopping.max_iterations,
        triangle=TRIANGLES[call.hermitian],
        certify=PROVE_ALL if call.certify else PROVE_DOUBTFUL if call.effort != "low" else 0,
        gauge=gauge,
        swept=True,
        tolerance=min(tolerance, _PROOF_TOLERANCE) if call.certify and tolerance > 0 else tolerance,
        accepted=tolerance,
    )


def _leave_out(out: NDArray[np.bool_] | None, z: NDArray, numbers: BatchNumbers) -> None:
    """Settle the status of problems; masked nodes are rows of zeros to the kernels, each a piece of its own."""
    nodes: Any = z.shape[1]
    if out is not None:
        z[out] = np.nan
        left_out = np.count_nonzero(out, axis=1).astype(np.int32)
        nodes = nodes - left_out
        numbers.components[:] = np.where(numbers.status == BatchStatus.NOT_FINITE, 0, numbers.components - left_out)
    settle_status(numbers.status, numbers.components, nodes)


def _claims(numbers: BatchNumbers, found: NDArray[np.float64], n: int) -> dict[str, Any]:
    known = {"status": numbers.status, "components": numbers.components}
    return certificates(dict(zip(FIELDS, found, strict=True)) | known, n)


def _look_further(
    search: Search,
    part: Part,
    which: NDArray[np.int64],
    status: NDArray[np.int8],
    out: NDArray[np.bool_] | None,
    proofs: dict[str, NDArray],
) -> None:
    """Further starts for the problems ``which`` of one part; what is better is written over what there was.

    ``status``: what these problems have when all is written. Ctrl-C in here leaves them INTERRUPTED.
    """
    better, found = search.improved(part, which)
    places = which[better]
    _leave_out(None if out is None else out[places], found.z, found.numbers)
    claims = _claims(found.numbers, found.found, part.z.shape[1]) if proofs else {}
    status[better] = found.numbers.status
    found.numbers.status[:] = BatchStatus.INTERRUPTED
    part.z[places] = found.z
    part.numbers.write(places, found.numbers)
    for name, values in proofs.items():
        values[places] = claims[name]
    part.numbers.status[which] = status
