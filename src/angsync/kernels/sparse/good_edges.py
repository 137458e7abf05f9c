"""A random walk over sets of good edges with the phases integrated out, compiled; twin: ``good_edges_reference``."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.library import ADDRESS, REAL, SIZE, address, function
from angsync.kernels.sparse import good_edges_reference
from angsync.kernels.sparse.good_edges_reference import UNIFORM


class _State(ctypes.Structure):
    """``good_edges_t`` in good_edges.c."""

    _fields_ = (
        ("n", SIZE), ("m", SIZE), ("i", ADDRESS), ("j", ADDRESS), ("weight", ADDRESS), ("angle", ADDRESS),
        ("target", ADDRESS), ("covariance", ADDRESS), ("mean", ADDRESS), ("room", ADDRESS), ("good", ADDRESS),
        ("ridge", REAL), ("apart", REAL), ("uniform", REAL), ("flips", SIZE), ("refreshes", SIZE),
    )  # fmt: skip


_refresh = function("good_edges_refresh", ctypes.POINTER(_State))
_sweep = function("good_edges_sweep", ctypes.POINTER(_State), REAL, ADDRESS, ADDRESS)


class GoodEdges(good_edges_reference.GoodEdges):
    """The state of the walk; arrays are changed in place."""

    _state: Any = None

    @property
    def flips(self) -> int:
        """Since the last refresh."""
        return int(self._state.flips)

    @property
    def refreshes(self) -> int:
        """In all."""
        return int(self._state.refreshes)

    def refresh(self) -> None:
        """Fit and covariance anew, against rounding."""
        if self._state is None:
            self._room = np.zeros(self.n)
            columns = (self.i, self.j, self.weight, self.angle)
            changed = (self.target, self.covariance, self.mean, self._room, self.good)
            addresses = [address(x) for x in (*columns, *changed)]
            self._state = _State(self.n, self.i.size, *addresses, self.ridge, self.apart, UNIFORM, 0, 0)
        _refresh(ctypes.byref(self._state))

    def sweep(self, sigma: float, odds: NDArray[np.float64], drawn: NDArray[np.float64]) -> None:
        """Every edge once."""
        odds, drawn = np.ascontiguousarray(odds, np.float64), np.ascontiguousarray(drawn, np.float64)
        _sweep(ctypes.byref(self._state), sigma, address(odds), address(drawn))
