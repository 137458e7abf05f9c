"""Matrices that are larger than memory: the same answer as the matrix in memory, from one triangle in tiles."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from stored import LIBRARIES, Slices, stored

import angsync as ang
from angsync import kernels
from angsync.errors import InputError, NotFiniteError, NotHermitianError
from angsync.problem import stored as reading
from angsync.problem.operators import first_read, streamed
from angsync.problem.operators.streamed import StreamedOperator


@pytest.fixture(autouse=True)
def everything_is_large(monkeypatch):
    """Matrices of a few hundred nodes are streamed in tiles of 32 kB."""
    monkeypatch.setattr(streamed, "LOADED_UP_TO_BYTES", 0)
    monkeypatch.setattr(reading, "_READ_BYTES", 1 << 15)


@pytest.fixture
def closing():
    with contextlib.ExitStack() as stack:
        yield stack


def problem(n=500, sigma=2.0, dtype=np.complex128):
    return ang.simulate.gaussian(n, sigma, rng=3).C.astype(dtype)


SHAPES = [(64, 64), (100, 30), (500, 7), (1, 500), (128, 256), (500, 500)]


@pytest.mark.parametrize("chunks", SHAPES)
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("hermitian", ["full", "upper", "lower"])
def test_products_and_sums_are_those_of_the_matrix(chunks, dtype, hermitian):
    C = problem(dtype=dtype)
    given = C.copy()
    if hermitian != "full":  # the other triangle is not read
        given[np.tril_indices(500, -1) if hermitian == "upper" else np.triu_indices(500, 1)] = np.nan
    operator = ang.as_operator(Slices(given, chunks), hermitian)
    assert isinstance(operator, StreamedOperator)
    assert operator.dtype == dtype
    wide = C.astype(np.complex128)
    x = np.random.default_rng(0).standard_normal((500, 3)) * np.exp(1j)
    scale = np.abs(wide).sum(axis=1).max()
    assert np.abs(operator.apply(x) - wide @ x).max() < 1e-13 * scale
    assert np.abs(operator.apply(x[:, 0]) - wide @ x[:, 0]).max() < 1e-13 * scale
    assert np.allclose(operator.abs_row_sums(), np.abs(wide).sum(axis=1), rtol=1e-13, atol=0)
    assert np.array_equal(operator.diagonal(), np.diagonal(wide).real)
    (probe,), (image,) = operator.probes()
    assert np.abs(image - wide @ probe).max() < 1e-13 * scale
    assert operator.component_labels().tolist() == [0] * 500
    assert not operator.is_real()
    # what node 400 is part of, as a row or as a column: so many sums are added, each of a tile
    reads = [sides for sides in operator._triangle.tiles() if any(side.start <= 400 < side.stop for side in sides)]
    longest = max(max(rows.stop - rows.start, columns.stop - columns.start) for rows, columns in reads)
    assert min(500, longest + len(reads)) <= operator.rounding_length() <= 500
    assert operator.asymmetry() == 0
    ang.testing.check_operator(operator)


@pytest.mark.skipif(not kernels.COMPILED, reason="only the compiled kernels have a narrow copy")
@pytest.mark.parametrize("n", [401, 512, 700])
@pytest.mark.parametrize("chunks", [(64, 64), (100, 1000), (128, 128)])
def test_the_narrow_copy_is_that_of_the_matrix_to_the_bit(n, chunks):
    C = problem(n)
    copy, expected = ang.as_operator(Slices(C, chunks)).narrow, ang.as_operator(C).narrow
    assert np.array_equal(copy.blocks, expected.blocks)
    assert np.array_equal(copy.scale, expected.scale)
    assert np.array_equal(copy.diagonal, expected.diagonal)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("certify", [True, False])
def test_the_answer_is_that_of_the_matrix_after_a_few_reads(dtype, copied, certify, monkeypatch):
    if not copied:
        monkeypatch.setattr(first_read, "NARROW_UP_TO_BYTES", 0)
    C = problem(dtype=dtype)
    data = Slices(C, (64, 64))
    result, expected = ang.synchronize(data, certify=certify), ang.synchronize(C, certify=certify)
    assert result.converged
    assert result.z.dtype == dtype
    assert result.objective == pytest.approx(expected.objective, rel=1e-12 if dtype == np.complex128 else 1e-10)
    assert not certify or result.certificate.verdict is ang.Verdict.CERTIFIED
    assert data.largest <= 128 * 128
    reads = data.entries / 500**2
    if copied and kernels.COMPILED:
        # the first read of both triangles, and a few of one triangle, which tiles exceed by an eighth or so
        assert reads < 1.2 + 5 * 0.7
    else:
        assert reads < 1.2 + 60 * 0.7


@pytest.mark.parametrize("name", LIBRARIES)
def test_arrays_of_every_library(name, tmp_path, closing):
    C = problem(450)
    result = ang.synchronize(stored(name, C, (100, 100), tmp_path, closing))
    assert type(result.z) is np.ndarray
    assert result.objective == pytest.approx(ang.synchronize(C).objective, rel=1e-12)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED


@pytest.mark.parametrize("name", LIBRARIES)
def test_small_arrays_of_every_library_are_loaded(name, tmp_path, closing, monkeypatch):
    monkeypatch.setattr(streamed, "LOADED_UP_TO_BYTES", 1 << 30)
    C = problem(450)
    result, expected = ang.synchronize(stored(name, C, (100, 100), tmp_path, closing)), ang.synchronize(C)
    assert np.array_equal(result.z, expected.z)


# What is wrong with a matrix is found in the first read.


@pytest.mark.parametrize("place", [(3, 400), (400, 3), (7, 7)])
def test_an_entry_that_is_not_finite_is_named(place):
    C = problem()
    C[place] = np.nan
    with pytest.raises(NotFiniteError, match=rf"C\[{place[0]},{place[1]}\] is "):
        ang.as_operator(Slices(C, (64, 64)))


def test_triangles_that_differ_are_an_error_that_names_the_pair():
    C = problem()
    C[400, 3] += 1e-3
    with pytest.raises(NotHermitianError, match=r"C\[3,400\]"):
        ang.as_operator(Slices(C, (64, 64)))
    assert ang.as_operator(Slices(C, (64, 64)), "upper").n == 500


def test_a_small_edge_beside_a_large_one_is_compared_by_its_own_size():
    C = problem()
    C[10, 11] = C[11, 10] = 1e9
    C[1, 2], C[2, 1] = 1, -1
    with pytest.raises(NotHermitianError, match=r"C\[1,2\]"):
        ang.as_operator(Slices(C, (64, 64)))


def test_rounding_is_no_error_and_is_summed_up():
    C = problem()
    given = C.copy()
    given[400, 3] *= 1 + 1e-12
    given[401, 3] = given[3, 401] = 0
    given[401, 3] = 1e-14  # rounding of a computed Gram matrix: small beside the rows, not beside its own pair
    operator = ang.as_operator(Slices(given, (64, 64)))
    apart = abs(given[400, 3] - C[400, 3]) + 1e-14
    assert operator.asymmetry() == pytest.approx(apart, rel=1e-3)
    wide = np.triu(given, 1)
    wide = wide + wide.conj().T + np.diag(np.diagonal(given).real)
    x = np.ones(500, dtype=complex)
    assert np.abs(operator.apply(x) - wide @ x).max() < 1e-11


def test_a_diagonal_that_is_not_real_is_an_error():
    C = problem()
    C[77, 77] = 1 + 1e-3j
    with pytest.raises(NotHermitianError, match=r"C\[77,77\]"):
        ang.as_operator(Slices(C, (64, 64)))


def test_many_pairs_that_differ_are_judged_on_the_way(monkeypatch):
    monkeypatch.setattr(first_read, "_MOST_SUSPECTS", 10)
    with pytest.raises(NotHermitianError):
        ang.as_operator(Slices(problem() + np.triu(np.ones((500, 500)), 1), (64, 64)))


def test_shapes_types_and_sizes_are_checked():
    with pytest.raises(InputError, match="square"):
        ang.as_operator(Slices(np.ones((5, 6)), (5, 6)))
    with pytest.raises(InputError, match="numeric"):
        ang.as_operator(Slices(np.full((5, 5), "a"), (5, 5)))
    with pytest.raises(InputError, match="overflow"):
        ang.as_operator(Slices(np.full((500, 500), 1e308), (64, 64)))


# Unusual problems.


def test_pieces_are_solved_in_memory_one_by_one():
    C = np.zeros((500, 500), dtype=complex)
    C[:200, :200], C[200:, 200:] = problem(200), problem(300)
    with pytest.warns(ang.errors.DisconnectedWarning):
        result = ang.synchronize(Slices(C, (64, 64)))
    assert result.components.tolist() == [0] * 200 + [1] * 300
    with pytest.warns(ang.errors.DisconnectedWarning):
        assert result.objective == pytest.approx(ang.synchronize(C).objective, rel=1e-12)


def test_a_piece_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(streamed, "_RESTRICTED_UP_TO_BYTES", 1000)
    C = np.zeros((500, 500), dtype=complex)
    C[:200, :200], C[200:, 200:] = problem(200), problem(300)
    with pytest.warns(ang.errors.DisconnectedWarning), pytest.raises(InputError, match="several pieces"):
        ang.synchronize(Slices(C, (64, 64)))


@pytest.mark.parametrize("kind", ["real", "diagonal", "noisy", "uneven", "huge", "tiny"])
def test_unusual_matrices_go_the_general_way(kind, monkeypatch):
    monkeypatch.setattr(reading, "_READ_BYTES", 1 << 22)  # some take hundreds of products
    C = problem(450)
    if kind == "real":
        C = np.real(C).astype(float)
    elif kind == "diagonal":
        C[np.arange(450), np.arange(450)] = 1e5
    elif kind == "noisy":
        C = problem(450, 15.0)
    elif kind == "uneven":
        weights = 10.0 ** np.random.default_rng(0).uniform(-2, 0, 450)
        C = C * np.outer(weights, weights)
    else:
        C = C * (1e200 if kind == "huge" else 1e-200)
    result, expected = ang.synchronize(Slices(C, (64, 64)), certify=False), ang.synchronize(C, certify=False)
    assert result.converged
    assert result.objective >= expected.objective * (1 - 1e-9)


def test_what_needs_the_entries_says_that_it_cannot_have_them():
    result = ang.synchronize(Slices(problem(), (64, 64)))
    with pytest.raises(InputError):
        result.standard_errors()
