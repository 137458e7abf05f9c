"""How the cost grows: products with the order of C, time with the number of problems, and the product itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.errors import InputError
from angsync.front_door import synchronize
from angsync.solvers.memory import dense_bytes
from angsync.solvers.stopping import RESIDUAL_TOLERANCE, Stopping
from angsync.study.bench.bandwidth import Bandwidth
from angsync.study.bench.problems import coherence_stack, room_for_dense
from angsync.study.bench.rows import Row
from angsync.study.bench.runner import Contestant, race, timed
from angsync.study.bench.setting import Setting, lacking, skipped, timing
from angsync.study.bench.threads import AS_SET
from angsync.study.bench.ways import outer_plus_noise
from angsync.study.machine import cores

_LEVEL = "0.3 sqrt(n)"  # the noise of the dense problems
_BATCH_ORDER = 10  # n of the problems of a stack
_DIFFERENT_PROBLEMS = 1000  # problems that are made; a larger stack repeats them without a copy
_BATCH_BYTES = 8 * _BATCH_ORDER + 64  # of the answer for one problem
_READ = "one read of C"  # name of the row that products are compared with


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """p of the power law cost = c size^p: least squares in the logarithms."""
    if len(sizes) < 2 or len(set(sizes)) < 2:
        raise InputError(f"a power law needs at least two different sizes, but there are {sorted(set(sizes))}.")
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def growth(setting: Setting) -> Iterator[Row]:
    """Products at 0.3 sqrt(n) against n, and time against the number of problems; the exponent is in the last row."""
    yield from _products(setting)
    yield from _batches(setting)


def _products(setting: Setting) -> Iterator[Row]:
    problem = f"products with C at sigma = {_LEVEL}"
    orders, counts = [], []
    for k, n in enumerate(setting.size.growth_orders):
        share = 0.8 * k / len(setting.size.growth_orders)
        if why := lacking(room_for_dense(n)):
            yield skipped("growth", problem, n, why)
            continue
        setting.tick(f"n = {n}", share)
        C = outer_plus_noise(n, _LEVEL, setting.seed)
        _, result = timed(partial(synchronize, C, certify=False, stopping=Stopping(tolerance=RESIDUAL_TOLERANCE)))
        orders.append(n)
        counts.append(result.matvecs)
        yield Row("growth", problem, f"n = {n}", n, products=result.matvecs)
    if len(orders) > 1:
        yield Row("growth", problem, "fit", orders[-1], exponent=exponent(orders, counts), note="0: flat")


def _batches(setting: Setting) -> Iterator[Row]:
    n, counts = _BATCH_ORDER, setting.size.growth_counts
    problem, most = f"time of a stack, n = {n}", max(counts)
    if why := lacking(_BATCH_BYTES * most):
        yield skipped("growth", problem, n, why)
        return
    block = coherence_stack(n, _DIFFERENT_PROBLEMS, "easy", setting.seed)
    contestants = [
        # the stack is a view, however large it is
        Contestant(
            f"{count:,} problems", partial(_solve, np.broadcast_to(block, (count // _DIFFERENT_PROBLEMS, *block.shape)))
        )
        for count in counts
    ]
    setting.tick(f"{most:,} problems", 0.8)
    laps = race(contestants, setting.repeats)
    for count, (name, lap) in zip(counts, laps.items(), strict=True):
        yield Row("growth", problem, name, n, **timing(lap), facts={"problems": count})
    if len(laps) > 1:
        p = exponent(counts, [lap.seconds for lap in laps.values()])
        yield Row("growth", problem, "fit", n, exponent=p, note="1: linear")


def _solve(stack: NDArray) -> Any:
    return synchronize(stack, certify=False, on_failure="ignore")


def bandwidth(setting: Setting) -> Iterator[Row]:
    """One product with C from its upper triangle, against a plain read of the same memory.

    Of the same memory, because pages differ: on one machine two blocks of a gigabyte were read at 13 and at 19 GB/s.
    """
    orders = setting.size.bandwidth_orders
    for k, n in enumerate(orders):
        problem, share = f"n = {n}, one product", k / len(orders)
        if why := lacking(2 * dense_bytes(n)):
            yield skipped("bandwidth", problem, n, why)
            continue
        setting.tick(problem, share)
        z = np.exp(1j * np.arange(n))
        C = np.empty((n, n), dtype=complex)
        np.multiply.outer(z, z.conj(), out=C)
        contestants = [
            Contestant("triangle", partial(kernels.dense_apply, C, z)),
            Contestant("NumPy C @ z", partial(np.matmul, C, z)),
            Contestant(
                _READ, partial(kernels.read_through, C.reshape(-1).view(np.float64), threads=cores()), (AS_SET,)
            ),
        ]
        laps = race(contestants, max(setting.repeats, 5))
        read = C.nbytes / laps.pop(_READ).seconds
        measured = Bandwidth(one=read, all=read)
        exact = n * z  # z z^H z
        for name, lap in laps.items():
            error = float(np.max(np.abs(lap.answer - exact)) / n)
            yield Row(
                "bandwidth",
                problem,
                name,
                n,
                **timing(lap),
                ratio=laps["NumPy C @ z"].seconds / lap.seconds,
                base="NumPy",
                agrees=error <= 1e-10,  # rounding of n terms of modulus 1 is far below
                limit=measured.share(8 * n * (n + 1), lap.seconds),
                bandwidth=measured.best,
                facts={"relative_error": error},
            )
