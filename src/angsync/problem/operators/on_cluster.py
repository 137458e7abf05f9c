"""A dense Hermitian matrix that is larger than one machine: its upper triangle on the workers of a Dask cluster.

What runs on the workers is in :mod:`~angsync.problem.operators.pieces`. The client sends each piece the parts of z that
it needs, and adds what comes back, piece by piece: the sums do not depend on which worker did what, nor on what it had
in memory, nor on a worker that was lost. Nothing here imports Dask before there is a client.
"""

from __future__ import annotations

import itertools
import math
import pickle
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError
from angsync.kernels import time_limit
from angsync.problem.array_libraries import chunk_shape, is_stored
from angsync.problem.operators import cutting, pieces
from angsync.problem.operators.checks import Hermitian, check_square, complex_type
from angsync.problem.operators.cutting import Block
from angsync.problem.operators.first_read import FirstRead, Seen, Triangle
from angsync.problem.operators.pieces import Look, Plan, Share
from angsync.problem.operators.streamed import StreamedOperator
from angsync.problem.stored import StoredArray
from angsync.problem.workers import Patience, connected, threads_of, version

_DESCRIBED_BY_BYTES = 50_000_000  # of the pickled array that goes to every worker: more is the data itself
_MOST_ATTEMPTS = 3  # at one task, each of which has cost Dask's allowed number of workers
_LOOK_AFTER_SECONDS = 1.0  # while a product is waited for: at the clock, and at the workers


@dataclass
class Timing:
    """The last product: how long each worker took by itself, and the bytes that each read again."""

    own_seconds: list[float]
    bytes_read: list[int]


class Pieces:
    """The pieces of one matrix, as futures, and their work."""

    def __init__(self, client: Any, triangle: Triangle) -> None:
        threads = threads_of(client)
        chunk = chunk_shape(triangle.stored.data) or (1, 1)
        side = cutting.side_of_blocks(triangle.n, chunk)
        strip = cutting.rows_of_strips(side, chunk, triangle.stored.dtype.itemsize)
        self.count = -(-triangle.n // side)
        cut = [blocks for blocks in cutting.pieces_of(self.count, list(threads.values())) if blocks]
        token = uuid.uuid4().hex[:12]
        plans, homes = [], list(threads)
        for number, blocks in enumerate(cut):
            runs = _runs(blocks, threads[homes[number]])
            plans.append(Plan(f"angsync-{token}-piece-{number}", version(), triangle, side, strip, runs))
        self.client, self.plans, self.side, self.strip = client, plans, side, strip
        self.timing = Timing([], [])
        self._numbers = itertools.count()
        self._futures = [self._loaded(plan, home) for plan, home in zip(plans, homes, strict=False)]
        self._checksums: list[dict[Block, int]] = [{} for _ in plans]

    @property
    def run_count(self) -> int:
        """Sums that are made apart and then added, one after the other."""
        return sum(len(plan.runs) for plan in self.plans)

    def _loaded(self, plan: Plan, home: str) -> Any:
        # where the worker is lost, any other one may read the piece; the key is of this matrix alone
        key = f"{plan.name}-{next(self._numbers)}"
        return self.client.submit(pieces.load, plan, key=key, workers=[home], allow_other_workers=True)

    def look(self, first: FirstRead) -> None:
        """Let every piece be looked at, and add up what was seen."""
        found: list[Look] = self._asked(
            pieces.look, lambda k: (self._parts(k, first.probe), first.dtype, first.compared)
        )
        for number, (plan, seen) in enumerate(zip(self.plans, found, strict=True)):
            self._compare_samples(plan, seen)
            first.asymmetry += seen.asymmetry
            first.is_real = first.is_real and seen.is_real
            first.first_row += seen.first_row
            first.suspects += seen.suspects
            self._checksums[number] = seen.checksums
            for k, (diagonal, sums, maxima, image) in seen.rows.items():
                at = plan.rows(k)
                first.diagonal[at] += diagonal  # one piece has it, 0 in the others
                first.sums[at] += sums
                first.row_maxima[at] = np.maximum(first.row_maxima[at], maxima)
                first.image[at] += image

    def _compare_samples(self, plan: Plan, seen: Look) -> None:
        """What a worker read against what is read here: files that it does not see are zeros to it, and no error."""
        for (i, j), entries in seen.samples.items():
            row = plan.rows(i).start
            here = plan.triangle.part(slice(row, row + 1), plan.rows(j))
            if not np.array_equal(here, entries, equal_nan=True):
                raise InputError(
                    f"a worker ({seen.worker}) reads other numbers than this process in row {row} of C. Do all workers "
                    "see the same files? Open the store by an absolute path on a file system that they share."
                )

    def product(self, x: NDArray[np.complex128], y: NDArray[np.complex128]) -> None:
        """Add to y what the triangle and its mirror image add to C x."""
        shares: list[Share] = self._asked(pieces.multiply, lambda k: (self._parts(k, x), self._checksums[k]))
        for plan, share in zip(self.plans, shares, strict=True):
            for k, values in share.rows.items():
                y[plan.rows(k)] += values
        self.timing = Timing([share.seconds for share in shares], [share.bytes_read for share in shares])
        self._spread(shares)

    def _parts(self, number: int, x: NDArray) -> dict[int, NDArray]:
        plan = self.plans[number]
        return {k: x[plan.rows(k)] for k in plan.touched}

    def _spread(self, shares: Sequence[Share]) -> None:
        """Move pieces that share a worker, as after the loss of another one, to workers that have none.

        Dask lets the workers that are left load what was lost, and leaves it there when a new worker comes: all
        products from then on would take twice as long. Pieces that do not fit there beside others go first.
        """
        homes = [share.worker for share in shares]
        if len(set(homes)) == len(homes):
            return
        free = sorted(set(self.client.nthreads()) - set(homes))
        for k in sorted(range(len(homes)), key=lambda k: -shares[k].bytes_read):
            if free and homes.count(homes[k]) > 1:
                homes[k] = free.pop(0)
                self._futures[k] = self._loaded(self.plans[k], homes[k])

    def _asked(self, task: Callable[..., Any], arguments: Callable[[int], tuple[Any, ...]]) -> list[Any]:
        """What the task gives for every piece, in their order; pieces that cost workers are asked again."""
        futures: dict[int, Any] = {}
        answers: dict[int, Any] = {}
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            for k in range(len(self.plans)):
                if k not in answers:
                    key = f"{self.plans[k].name}-{task.__name__}-{next(self._numbers)}"
                    futures[k] = self.client.submit(task, self._futures[k], *arguments(k), key=key)
            self._wait(list(futures.values()))
            killed = [k for k, future in futures.items() if future.status == "error" and _is_killed(future)]
            fine = [k for k in futures if k not in killed]
            answers.update(zip(fine, self.client.gather([futures[k] for k in fine]), strict=True))
            for k in killed:
                if attempt == _MOST_ATTEMPTS:
                    raise _too_many_lost(futures[k].exception())
                # whatever ended them, memory or not: once more, and with nothing kept
                self.plans[k] = replace(self.plans[k], keeps=False)
                self._futures[k] = self._loaded(self.plans[k], min(self.client.nthreads(), default=""))
            for future in futures.values():
                future.release()  # now: Dask would compute it again if it lost the worker
            futures.clear()
            if len(answers) == len(self.plans):
                break
        return [answers[k] for k in range(len(self.plans))]

    def _wait(self, futures: list[Any]) -> None:
        """Until all have ended, well or not; ``max_seconds`` and Ctrl-C end it."""
        from distributed import wait

        patience = Patience(self.client)
        while True:
            try:
                with self.client.as_current():  # it need not be the default one
                    wait(futures, timeout=_LOOK_AFTER_SECONDS)
                return
            except TimeoutError:
                time_limit.check()
                patience.check()


def _runs(blocks: list[Block], threads: int) -> tuple[tuple[Block, ...], ...]:
    """The blocks of a piece in as many runs as its worker has threads, of about the same length."""
    count = min(threads, len(blocks))
    cuts = [round(k * len(blocks) / count) for k in range(count + 1)]
    return tuple(tuple(blocks[begin:end]) for begin, end in itertools.pairwise(cuts))


def _is_killed(future: Any) -> bool:
    from distributed import KilledWorker

    return isinstance(future.exception(), KilledWorker)


def _too_many_lost(error: Exception) -> InputError:
    return InputError(
        f"workers died again and again while they had one part of C: {error}. Usually their memory is too small, and "
        "the system or Dask ends them: give them more, or store C in smaller chunks."
    )


class ClusterOperator(StreamedOperator):
    """A checked matrix on the workers of a cluster: see :func:`cluster_operator`."""

    def __init__(self, triangle: Triangle, dtype: np.dtype[Any], seen: Seen, held: Pieces) -> None:
        super().__init__(triangle, dtype, seen, None)
        self._held = held

    @property
    def timing(self) -> Timing:
        """How long the workers took for the last product."""
        return self._held.timing

    def apply(self, z: NDArray) -> NDArray:
        """One round of the workers, for a vector or a block of them; sums are in double precision."""
        x = z.astype(np.complex128)
        y = self._seen.diagonal.reshape(-1, *(1 for _ in x.shape[1:])) * x
        self._held.product(x, y)
        return y.astype(np.result_type(z, self._dtype), copy=False)

    def rounding_length(self) -> int:
        r"""Additions that a term of an entry of C z passes through, at most.

        In a block of side s it is one of s that are added in any order (a row times z), or one of the rows of a panel,
        whose sums are then added panel by panel (the mirror image). The sum of a block is one of at most m + 1 that
        are added to an entry, m blocks being in a row of the whole C, the one on the diagonal counted twice: some in
        the run that the block belongs to, which begins at 0. These partial sums are then added run by run and piece by
        piece, and the diagonal term last. No term is in more than n - 1 additions of numbers that are not 0.
        """
        rows, side, strip = cutting.PANEL_ROWS, self._held.side, self._held.strip
        panels = math.ceil(side / strip) * math.ceil(strip / rows)
        inside = max(side, rows + panels)
        return min(self.n, inside + self._held.count + 1 + self._held.run_count + 1)

    def without_diagonal(self) -> ClusterOperator:
        seen, none = self._seen, np.zeros(self.n)
        sums, image = seen.sums - np.abs(seen.diagonal), seen.image - seen.diagonal * seen.probe
        return ClusterOperator(
            self._triangle, self._dtype, replace(seen, diagonal=none, sums=sums, image=image), self._held
        )


def cluster_operator(data: Any, hermitian: Hermitian, client: Any, absent: str | None = None) -> ClusterOperator:
    """A stored matrix on the workers of this client, read and checked by them; both triangles where both are given."""
    client = connected(client)
    if not is_stored(data):
        raise InputError(
            f"a {type(data).__name__} does not go to a cluster: give an array of zarr, dask or xarray that every "
            "worker can read, or leave out client."
        )
    check_square(tuple(data.shape))
    stored = data if isinstance(data, StoredArray) else StoredArray(data, hermitian, absent)
    _check_description(stored)
    dtype = complex_type(stored.dtype, "C")
    triangle = Triangle(stored, lower=hermitian == "lower")
    held = Pieces(client, triangle)
    first = FirstRead(triangle, dtype, compared=hermitian == "full", copied=False)
    held.look(first)
    first.finish()
    return ClusterOperator(triangle, dtype, first.seen(), held)


def _check_description(stored: StoredArray) -> None:
    """Workers get a description of the array, and read it themselves."""
    try:
        size = len(pickle.dumps(stored))
    except Exception as error:  # whatever the library raises: h5py a TypeError, others their own
        raise InputError(
            f"a {type(stored.data).__module__} array cannot be sent to workers ({error}): copy it to a zarr store."
        ) from None
    if size > _DESCRIBED_BY_BYTES:
        raise InputError(
            f"the array carries {size / 1e6:.0f} MB with it, which every worker would get: write it to a zarr store, "
            "and open that."
        )
