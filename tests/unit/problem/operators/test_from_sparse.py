"""Sparse matrices whose arrays do not fit together: they used to end the process."""

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync.errors import InputError
from angsync.problem.operators.from_sparse import check_format

GRID = scipy.sparse.csr_array(ang.simulate.grid(6, 6, 0.4, rng=0).C)
LAYOUTS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")


def set_entry(name, at, value):
    def damage(matrix):
        getattr(matrix, name)[at] = value

    return damage


def shorten(name):
    def damage(matrix):
        setattr(matrix, name, getattr(matrix, name)[:10])

    return damage


def overflow(matrix):
    matrix.indptr[1:-1], matrix.indptr[-1] = 2**31 - 1, -2


DAMAGES = {
    "an index beyond the columns": (set_entry("indices", 5, 10**6), r"indices\[5\] is 1000000, but .* 0 to 35"),
    "a negative index": (set_entry("indices", 5, -3), r"indices\[5\] is -3"),
    "a start beyond the entries": (
        set_entry("indptr", -1, 10**8),
        r"indices has \d+ entries, but indptr speaks of 10{8}",
    ),
    "a start that decreases": (set_entry("indptr", 3, -50), r"indptr\[3\] is -50"),
    "a start whose difference overflows": (overflow, r"indptr\[36\] is -2,"),
    "starts that do not begin at 0": (set_entry("indptr", 0, 1), r"indptr\[0\] is 1"),
    "too few entries": (shorten("data"), r"data has 10 entries, but indptr speaks of"),
    "too few indices": (shorten("indices"), r"indices has 10 entries"),
    "too few starts": (shorten("indptr"), r"indptr has 10 entries, but 37 are expected"),
}


@pytest.mark.parametrize("use", [ang.synchronize, ang.as_operator, ang.Measurements.from_matrix])
@pytest.mark.parametrize("layout", ["csr", "csc"])
@pytest.mark.parametrize("case", DAMAGES)
def test_a_damaged_matrix_has_one_message(case, layout, use):
    damage, message = DAMAGES[case]
    matrix = GRID.asformat(layout).copy()
    damage(matrix)
    with pytest.raises(InputError, match=f"the sparse matrix is damaged: {message}.*make it again"):
        use(matrix)


@pytest.mark.parametrize("name", ["row", "col"])
@pytest.mark.parametrize("value", [-1, 36, 10**6])
def test_coordinates_outside_the_matrix(name, value):
    matrix = GRID.tocoo().copy()
    getattr(matrix, name)[7] = value
    with pytest.raises(InputError, match=rf"{name}\[7\] is {value}, but indices go from 0 to 35"):
        ang.synchronize(matrix)


def test_blocks_outside_the_matrix():
    matrix = GRID.tobsr(blocksize=(2, 2)).copy()
    matrix.indices[3] = 18
    with pytest.raises(InputError, match=r"indices\[3\] is 18, but indices go from 0 to 17"):
        ang.synchronize(matrix)


def test_lists_outside_the_matrix():
    matrix = GRID.tolil()
    matrix.rows[4][0] = 99
    with pytest.raises(InputError, match=r"the sparse matrix is damaged: .*99"):
        ang.synchronize(matrix)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_sound_matrices_of_every_layout_pass_unchanged(layout):
    matrix = GRID.asformat(layout)
    assert abs(check_format(matrix) - GRID).max() == 0
    np.testing.assert_array_equal(ang.synchronize(matrix).z, ang.synchronize(GRID).z)


def test_room_behind_the_entries_is_no_damage():
    roomy = GRID.copy()
    roomy.indices = np.append(roomy.indices, [10**6, -4]).astype(roomy.indices.dtype)
    roomy.data = np.append(roomy.data, [1.0, 1.0])
    np.testing.assert_array_equal(ang.synchronize(roomy).z, ang.synchronize(GRID).z)
    assert roomy.data.size == GRID.data.size + 2  # the caller's matrix is not changed


def test_flags_that_lie_are_not_believed():
    backwards = GRID.copy()
    for start, end in zip(backwards.indptr[:-1], backwards.indptr[1:], strict=True):
        for array in (backwards.indices, backwards.data):
            array[start:end] = array[start:end][::-1].copy()
    backwards.has_canonical_format = True
    np.testing.assert_array_equal(ang.synchronize(backwards).z, ang.synchronize(GRID).z)
