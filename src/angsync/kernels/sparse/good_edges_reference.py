"""A random walk over sets of good edges with the phases integrated out, in NumPy; its twin is ``good_edges``."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

_LOOSE = 1e8  # variance of a phase that nothing ties, over that of an edge
_APART = 1e5  # resistances above it, over that of an edge: nothing good between the two nodes
UNIFORM = 4.0  # radians squared: a normal law of this variance is uniform on the circle, to 13 %


def wrapped(angle: NDArray[np.float64]) -> NDArray[np.float64]:
    """Into [-pi, pi], quickly: the walk asks for nothing else so often."""
    return angle - 2 * np.pi * np.rint(angle / (2 * np.pi))


class GoodEdges:
    """The state of the walk: which edges are good, the fit to them, its covariance for sigma = 1.

    ``angle`` is what an edge measures of ``phase[i] - phase[j]``, with variance ``sigma**2 / weight`` if it is good.
    """

    def __init__(
        self,
        n: int,
        i: NDArray[np.int64],
        j: NDArray[np.int64],
        weight: NDArray[np.float64],
        angle: NDArray[np.float64],
        good: NDArray[np.bool_],
    ) -> None:
        self.n = n
        self.i, self.j = np.array(i, dtype=np.int64), np.array(j, dtype=np.int64)
        self.weight, self.angle = np.array(weight, dtype=np.float64), np.array(angle, dtype=np.float64)
        self.unit = 1 / float(np.median(self.weight))
        self.ridge, self.apart = 1 / (_LOOSE * self.unit), _APART * self.unit
        self.good = np.array(good, dtype=bool)
        self.mean = np.zeros(n)
        self.target = self.angle.copy()
        self.covariance = np.zeros((n, n))
        self._flips = self._refreshes = 0
        self.refresh()

    @property
    def flips(self) -> int:
        """Since the last refresh."""
        return self._flips

    @property
    def refreshes(self) -> int:
        """In all."""
        return self._refreshes

    def refresh(self) -> None:
        """Fit and covariance anew, against rounding."""
        gap = self.mean[self.i] - self.mean[self.j]
        self.target = gap + wrapped(self.angle - gap)
        i, j, w = self.i[self.good], self.j[self.good], self.weight[self.good]
        matrix = np.zeros((self.n, self.n))
        np.add.at(matrix, (i, j), -w)
        np.add.at(matrix, (j, i), -w)
        matrix[np.diag_indices(self.n)] = -matrix.sum(axis=1) + self.ridge
        self.covariance[:] = np.linalg.inv(matrix)
        pull = w * self.target[self.good]
        self._flips = 0
        self._refreshes += 1
        self.mean = self.covariance @ (np.bincount(i, pull, self.n) - np.bincount(j, pull, self.n))

    def sweep(self, sigma: float, odds: NDArray[np.float64], drawn: NDArray[np.float64]) -> None:
        """Every edge once, in order: good where the number drawn for it is below its chance, given all others.

        ``odds`` to be good are those before the angles are known. Between two flips nothing changes, so all chances are
        computed at once.
        """
        place = 0
        while place < drawn.size:
            good = drawn < self._chance_of_good(sigma, odds)
            differs = np.flatnonzero(good[place:] != self.good[place:])
            if not differs.size:
                break
            place += int(differs[0])
            self._flip(place)
            place += 1

    def sum_of_squares(self) -> tuple[float, int]:
        """Chi-square of the good edges for sigma = 1, and its degrees of freedom."""
        residual = (self.target - (self.mean[self.i] - self.mean[self.j]))[self.good]
        pieces = round(float(self.covariance.trace()) * self.ridge)
        return float((self.weight[self.good] * residual**2).sum()), residual.size - self.n + pieces

    def _chance_of_good(self, sigma: float, odds: NDArray[np.float64]) -> NDArray[np.float64]:
        diagonal = np.diagonal(self.covariance)
        resistance = np.maximum(diagonal[self.i] + diagonal[self.j] - 2 * self.covariance[self.i, self.j], 0.0)
        residual = self.target - (self.mean[self.i] - self.mean[self.j])
        redundancy = np.where(self.good, np.maximum(1 - self.weight * resistance, 1e-12), 1.0)
        variance = sigma**2 * (1 / self.weight + resistance / redundancy)
        residual = wrapped(residual / redundancy)
        apart = (resistance / redundancy > self.apart) | (variance > UNIFORM)
        variance = np.where(apart, 1.0, variance)
        ratio = math.sqrt(2 * math.pi) * np.exp(-0.5 * residual**2 / variance) / np.sqrt(variance)
        found = np.where(apart, 1.0, ratio) * odds
        return found / (1 + found)

    def _flip(self, k: int) -> None:
        i, j, w = self.i[k], self.j[k], self.weight[k]
        column = self.covariance[i] - self.covariance[j]
        resistance = column[i] - column[j]
        gap = self.mean[i] - self.mean[j]
        self.good[k] = not self.good[k]
        self._flips += 1
        if self.good[k]:
            miss = float(wrapped(self.angle[k] - gap))
            self.target[k] = gap + miss
            gain = 1 / (1 / w + resistance)
        else:
            if 1 - w * resistance < 1e-3:  # nearly a bridge: rounding would be divided by nearly nothing
                self.refresh()
                return
            miss = self.target[k] - gap
            gain = -1 / (1 / w - resistance)
        self.covariance -= gain * column[:, None] * column
        self.mean += gain * miss * column
