"""Moves of a random walk over sets of believed edges, compiled; what they are is told in ``walk_reference``."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from angsync.kernels.library import ADDRESS, INT, REAL, SIZE, address, function
from angsync.kernels.sparse import walk_reference


class _Walk(ctypes.Structure):
    _fields_ = (
        *((name, SIZE) for name in ("n", "free_count", "moves")),
        *((name, ADDRESS) for name in ("i", "j", "free", "angle", "root", "price", "uniform")),
        *((name, REAL) for name in ("swaps", "coldness", "scale")),
        *((name, ADDRESS) for name in ("believed", "x", "inverse")),
        ("log_det", REAL),
    )


_go = function("walk_go", ctypes.POINTER(_Walk), returns=INT)


class WalkState(walk_reference.WalkState):
    """As the twin, compiled. Arrays are contiguous and keep their places."""

    def walk(
        self, uniform: NDArray[np.float64], price: NDArray[np.float64], scale: float, coldness: float, swaps: float
    ) -> tuple[int, float]:
        told = _Walk(n=self.x.size, free_count=self.free.size, moves=len(uniform))
        told.swaps, told.coldness, told.scale = swaps, coldness, scale
        told.i, told.j, told.free = address(self.i), address(self.j), address(self.free)
        told.angle, told.root = address(self.angle), address(self.root)
        told.price, told.uniform = address(price), address(uniform)
        told.believed, told.x, told.inverse = address(self.believed), address(self.x), address(self.inverse)
        if not _go(ctypes.byref(told)):
            raise MemoryError
        return int(told.moves), float(told.log_det)
