"""Arrays that are read when somebody asks: what they are told by, and which parts are asked for."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from stored import LIBRARIES, Slices, stored

import angsync as ang
from angsync.errors import InputError
from angsync.problem.array_libraries import chunk_shape, is_stored
from angsync.problem.stored import StoredArray


@pytest.fixture
def closing():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("name", LIBRARIES)
def test_arrays_of_every_library_are_told_and_read_in_parts(name, tmp_path, closing):
    array = np.arange(60.0).reshape(6, 10) * (1 + 1j)
    data = stored(name, array, (4, 5), tmp_path, closing)
    assert is_stored(data)
    if name in ("slices", "zarr", "h5py", "dask", "xarray of dask"):
        assert chunk_shape(data) == (4, 5)
    part = StoredArray(data).read(slice(1, 4), slice(2, 9))
    assert type(part) is np.ndarray
    assert np.array_equal(part, array[1:4, 2:9])
    assert np.array_equal(StoredArray(data).loaded(), array)


def test_arrays_in_memory_are_not_stored():
    assert not is_stored(np.ones((3, 3)))
    assert not is_stored([[1.0]])
    assert not is_stored(ang.Measurements([0], [1], [0.1]))
    xarray = pytest.importorskip("xarray")
    assert not is_stored(xarray.DataArray(np.ones((3, 3))))


@pytest.mark.parametrize(
    ("n", "chunks"), [(100, (7, 7)), (3000, (1000, 1000)), (3000, (3000, 10)), (3000, (1, 3000)), (3000, (1, 1))]
)
def test_parts_of_a_matrix_are_whole_chunks_of_some_megabytes(n, chunks):
    rows, columns = StoredArray(Slices(np.broadcast_to(np.complex128(1), (n, n)), chunks)).sides()
    assert rows == n or rows % chunks[0] == 0
    assert columns == n or columns % chunks[1] == 0
    assert 16 * rows * columns <= max(1 << 24, 16 * chunks[0] * chunks[1])
    assert rows * columns >= min(n * n, 1 << 17)


def test_a_chunk_that_is_too_large_is_read_in_pieces():
    rows, columns = StoredArray(Slices(np.broadcast_to(np.complex128(1), (5000, 5000)), (5000, 5000))).sides()
    assert 16 * rows * columns <= 1 << 23


@pytest.mark.parametrize("leading", [(), (7,), (3, 4), (2, 3, 2)])
def test_problems_of_a_stack_are_read_by_their_numbers(leading):
    stack = np.random.default_rng(0).standard_normal((*leading, 3, 3))
    flat = stack.reshape(-1, 3, 3)
    for first in range(len(flat) + 1):
        for last in range(first, len(flat) + 1):
            data = Slices(stack)
            assert np.array_equal(StoredArray(data).problems(slice(first, last)), flat[first:last])
            assert data.entries == 9 * (last - first) or leading == ()
    numbers = np.random.default_rng(1).permutation(len(flat))
    assert np.array_equal(StoredArray(Slices(stack)).problems(numbers), flat[numbers])


@pytest.mark.parametrize(("leading", "chunk"), [((100,), 8), ((20, 7), 4), ((3, 500), 3)])
def test_blocks_of_a_stack_are_whole_chunks(leading, chunk):
    data = Slices(np.zeros((*leading, 2, 2)), (chunk, *leading[1:], 2, 2))
    parts = list(StoredArray(data).blocks(50))
    count = int(np.prod(leading))
    assert [k for part in parts for k in range(part.start, part.stop)] == list(range(count))
    row = chunk * count // leading[0]
    assert all(part.start % row == 0 for part in parts)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("shape", [(4, 4), (3, 4, 4)])
def test_masked_blocks_are_refused(shape, lazy):
    masked = np.ma.masked_array(np.ones(shape, dtype=complex), mask=np.zeros(shape, dtype=bool))

    class Lazy(Slices):
        """Slices that are computed when NumPy asks for an array, as those of dask are."""

        def __getitem__(self, index):
            class Part:
                def __array__(part, *_, **__):
                    return super(Lazy, self).__getitem__(index)

            return Part()

    def data():
        return (Lazy if lazy else Slices)(masked, shape)

    assert np.abs(ang.synchronize(data()).z - 1).max() < 1e-9  # a mask that hides nothing is none
    masked[..., 0, 1] = np.ma.masked
    with pytest.raises(InputError, match="both triangles"):
        ang.synchronize(data())
