"""Files with intensities and masks, or with patches and positions."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_retrieval.masks import Masks
from angsync.errors import AngsyncError, FileFormatError
from angsync.io.arrays import read_arrays


@dataclass(frozen=True, eq=False)
class Data:
    """What :func:`read` gives: the arguments of :func:`angsync.applications.phase_retrieval.recover`."""

    intensities: NDArray
    masks: Masks
    sigma: NDArray | None


@dataclass(frozen=True, eq=False)
class PatchData:
    """What :func:`read_patches` gives: the arguments of :func:`angsync.applications.phase_retrieval.stitch`."""

    patches: NDArray
    positions: NDArray
    weights: NDArray | None


def read(path: str | os.PathLike[str]) -> Data:
    """``intensities`` ``(K, *shape)`` and ``masks`` ``(K, *band)`` from npz or hdf5; ``sigma`` where it is there.

    With ``shifts`` (S, axes), intensities are (K, S) and ``shape`` has to be there as well.

    Examples
    --------
    >>> from angsync.applications import phase_retrieval
    >>> data = phase_retrieval.simulate(32, 3, rng=0)
    >>> np.savez("data.npz", intensities=data.intensities, masks=data.masks.windows)
    >>> phase_retrieval.read("data.npz").intensities.shape
    (5, 32)
    """
    arrays = read_arrays(path, ("intensities", "masks"), ("sigma", "shifts", "shape"))
    intensities = arrays["intensities"]
    shifts, shape = arrays.get("shifts"), arrays.get("shape")
    if shifts is not None and shape is None:
        raise FileFormatError(f"{path} has 'shifts' but no 'shape': say of which shape the signal is.")
    if shape is None:
        shape = np.shape(intensities)[1:]
    try:
        masks = Masks(arrays["masks"], tuple(np.atleast_1d(shape).tolist()), shifts)
    except AngsyncError as error:
        raise FileFormatError(f"{path}: {error}") from None
    return Data(intensities, masks, arrays.get("sigma"))


def read_patches(path: str | os.PathLike[str]) -> PatchData:
    """``patches`` (P, rows, columns) and ``positions`` (P, 2) from npz or hdf5; ``weights`` where they are there.

    Examples
    --------
    >>> from angsync.applications import phase_retrieval
    >>> np.savez("patches.npz", patches=np.ones((2, 4, 4), dtype=complex), positions=[[0, 0], [0, 2]])
    >>> phase_retrieval.read_patches("patches.npz").positions.tolist()
    [[0, 0], [0, 2]]
    """
    arrays = read_arrays(path, ("patches", "positions"), ("weights",))
    return PatchData(arrays["patches"], arrays["positions"], arrays.get("weights"))
