"""Stacks of every kind of problem, in stores and in memory, and how answers are compared."""

from __future__ import annotations

import numpy as np
import pytest
from problems import gaussian_stack

NAMES = ("z", "status", "verdict", "gap_bound", "residual", "lambda_2", "objective")


def hard_stack(rows=6, columns=10, n=6, dtype=np.complex64):
    """Half of the problems with much noise, which leaves many open; one in two pieces, one NaN, one of tiny numbers."""
    count = rows * columns
    C = np.concatenate([gaussian_stack(n, count // 2, 0.3, 1), gaussian_stack(n, count - count // 2, 3.0, 2)])
    C[3, :2, 2:], C[3, 2:, :2] = 0, 0
    C[5] = np.nan
    C[7] *= 1e-30
    return C.reshape(rows, columns, n, n).astype(dtype)


def on_disk(folder, stack, chunks, **settings):
    zarr = pytest.importorskip("zarr")
    array = zarr.open_array(str(folder), mode="w", shape=stack.shape, chunks=chunks, dtype=stack.dtype, **settings)
    array[...] = stack
    return array


def take_away(array, *place):
    """The files of the chunks at a place, as if they had been lost, or never written."""
    for file in files_at(array, *place):
        file.unlink()


def files_at(array, *place):
    """The files of the chunks at a place."""
    from angsync.problem.zarr_arrays import files_of

    whole = tuple(slice(*part.indices(size)[:2]) for part, size in zip(place, array.shape, strict=False))
    whole += tuple(slice(0, size) for size in array.shape[len(place) :])
    return [array.store.root / key for key, _ in files_of(array, whole)]


def key_of(array, numbers):
    """The key of a chunk in its store."""
    key = array.metadata.encode_chunk_key(numbers)
    return f"{array.path}/{key}" if array.path else key


def assert_same(found, expected):
    assert set(found.data_vars) == set(NAMES)
    for name in NAMES:
        values = getattr(expected, name)
        assert found[name].dtype == values.dtype
        assert np.array_equal(found[name].values, values, equal_nan=True), name
