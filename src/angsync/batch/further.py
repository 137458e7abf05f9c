r"""Further starts for the problems of a stack that one run leaves open.

A batch makes one run from one start, and hard problems have several optima. Where the proof of a problem fails, the
problem is gathered with the others that are open, and they are solved again by the same kernels from other phases:
random ones, the same for every problem, so that an answer does not depend on where its problem stands in the stack.
Only a larger f is taken. A problem is left alone once its best objective was found several times, or after so many
starts: :data:`STARTS`.

Random phases are all that is needed. On 1000 problems of each of five kinds (seeds other than those of the table in
docs/batches.md) the share of worse optima was, after one run, 17 % (random matrices, n = 16), 31 % (-zz^H plus noise)
and 3.5 % (EMI); with two dozen starts at most, until the best was found five times, 0.4, 1.7 and 0.1 %; until it was
found eight times, at most 40 starts, 0.2, 0.4 and 0.1 %, for twice the time. A start costs one to two times the first
run.

Without certificates nothing tells which problems are open, and to prove them all takes as long as to solve them. There
the misfit decides which problems are proved, behind the scenes:
:data:`~angsync.kernels.batch.numbers.DOUBTFUL_MISFIT`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.certificate.stacked import certificates
from angsync.kernels.batch.numbers import CONVERGED, FIELDS, MAX_ORDER, STALLED, BatchNumbers, BatchOptions
from angsync.pipeline.call import Effort, Seed
from angsync.pipeline.tried_starts import same_objective


class Limits(NamedTuple):
    """How far to look."""

    starts: int
    """Further starts of a problem, at most."""
    found: int
    """How often the best objective is to be found, the first run included, before it is believed."""


STARTS: dict[Effort, Limits] = {"low": Limits(0, 0), "normal": Limits(24, 5), "high": Limits(80, 10)}

GROUP_BYTES = 128
"""What the largest group of the kernels has of each entry: it takes as long with one problem in it as with all."""

_DISCONNECTED = 6  # BatchStatus.DISCONNECTED: solved, in several pieces


@dataclass(frozen=True)
class Part:
    """Some problems of a stack that were solved once, with the arrays that what is found better is written into."""

    C: NDArray
    z: NDArray
    numbers: BatchNumbers
    found: NDArray[np.float64]
    """Rows as in :data:`~angsync.kernels.batch.numbers.FIELDS`."""
    options: BatchOptions

    @classmethod
    def of(cls, C: NDArray, options: BatchOptions) -> Part:
        """Problems for which nothing is known yet."""
        count, n = C.shape[:2]
        found = np.zeros((len(FIELDS), count))
        return cls(C, np.empty((count, n), C.dtype), BatchNumbers.of(count), found, options)

    def solve(self, start: NDArray) -> None:
        """Solve the problems from this start, one for all or one for each."""
        kernels.solve_batch(self.C, start.astype(np.complex128), self.z, self.numbers, self.found, self.options)

    def claims(self) -> tuple[NDArray[np.int64], dict[str, NDArray]]:
        """Which problems have a proof, by their numbers, and what is claimed of those."""
        known = self.field() | {"status": self.numbers.status, "components": self.numbers.components}
        proved = np.flatnonzero(known["bound"] < np.inf)
        if proved.size < known["bound"].size:
            known = {name: values[proved] for name, values in known.items()}
        return proved, certificates(known, self.C.shape[1], ("verdict", "gap_bound"))

    def field(self) -> dict[str, NDArray]:
        return dict(zip(FIELDS, self.found, strict=True))

    @property
    def bare(self) -> NDArray[np.float64]:
        """The objectives without the diagonal, which is a constant; NaN where a problem was not solved."""
        value = self.numbers.objective - self.field()["trace"]
        status = self.numbers.status
        ended = (status == CONVERGED) | (status == STALLED) | (status == _DISCONNECTED)
        return np.where(ended, value, np.nan)


class Search:
    """Further starts for one stack: the same for all its parts. The points are drawn when they are first needed."""

    def __init__(self, effort: Effort, seed: Seed, n: int) -> None:
        self.limits, self._seed, self._n = STARTS[effort], seed, n
        self._points: NDArray | None = None

    @property
    def is_wanted(self) -> bool:
        return self.limits.starts > 0 and 2 < self._n <= MAX_ORDER  # two phases have one optimum

    def points(self) -> NDArray:
        """Phases without structure, one row a start."""
        if self._points is None:
            self._points = np.exp(2j * np.pi * self._seed.generator.random((self.limits.starts, self._n)))
        return self._points

    def improved(self, part: Part, which: NDArray[np.int64]) -> tuple[NDArray[np.int64], Part]:
        """Which of the problems ``which``, by their numbers there, have a better optimum, and what is found there."""
        C = np.ascontiguousarray(part.C[which])
        first = part.numbers.objective[which] - part.field()["trace"][which]
        origin = self._origin(C, first, part.options)
        better = np.flatnonzero(origin >= 0)
        again = Part.of(np.ascontiguousarray(C[better]), part.options._replace(power_steps=0, swept=False))
        if better.size:  # once more from the starts that led there, now with proof and gauge
            again.solve(self.points()[origin[better]])
        kept = again.bare > first[better]  # with a proof, single precision goes further, and may end elsewhere
        return better[kept], replace(
            again, z=again.z[kept], numbers=again.numbers.part(kept), found=again.found[:, kept]
        )

    def open(self, part: Part, proofs: dict[str, NDArray]) -> NDArray[np.int64]:
        """Return the problems that may have a better optimum, by an amount that matters.

        ``proofs``: what is claimed of them, empty without certificates. What is CERTIFIED is not open, though its gap
        may be as large as the rounding of its entries.
        """
        if not self.is_wanted:
            return np.empty(0, np.int64)
        places, claims = (np.arange(len(part.C)), proofs) if proofs else part.claims()
        failed = claims["verdict"] != 0
        doubtful = places[failed]
        if doubtful.size == 0:
            return doubtful
        return doubtful[claims["gap_bound"][failed] > same_objective(part.C.dtype) * np.abs(part.bare[doubtful])]

    def _origin(self, C: NDArray, first: NDArray[np.float64], options: BatchOptions) -> NDArray[np.int64]:
        """The number of the start that led to the best objective of each problem; -1 for the first run."""
        same = same_objective(C.dtype)
        best, origin, found = first.copy(), np.full(first.size, -1), np.ones(first.size, dtype=np.int64)
        left, some = np.arange(first.size), C
        how = options._replace(power_steps=0, swept=False, certify=0)
        number = 0
        while left.size > 0 and number < len(self.points()):
            together = max(1, GROUP_BYTES // C.itemsize // left.size)  # one problem fills a group by several starts
            points = self.points()[number : number + together]
            part = Part.of(np.repeat(some, len(points), axis=0), how)
            part.solve(np.tile(points, (left.size, 1)))
            going = np.ones(left.size, dtype=bool)
            for value in part.bare.reshape(left.size, len(points)).T:
                margin = same * np.abs(best[left])
                better = going & (value > best[left] + margin)
                again = going & (np.abs(value - best[left]) <= margin)
                found[left] = np.where(better, 1, found[left] + again)
                origin[left[better]] = number
                best[left[better]] = value[better]
                going &= found[left] < self.limits.found
                number += 1
            if not going.all():
                left, some = left[going], np.ascontiguousarray(some[going])
        return origin
