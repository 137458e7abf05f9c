"""What one look at a matrix, or at the problems of a stack, finds: the reference, and the kernels against it."""

import math

import numpy as np
import pytest
from devices import needs_device
from problems import hermitian

from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.stacked import certificates
from angsync.kernels.batch.numbers import chirp
from angsync.kernels.batch.pieces_reference import count_pieces, first_of_piece
from angsync.kernels.cuda import examine_reference as reference
from angsync.kernels.cuda.proof_reference import FIELDS
from angsync.problem import array_libraries as _arrays

ORDERS = [1, 2, 37, 64, 65, 128, 300]


def _matrix(n, dtype):
    """Zeros, an entry off by rounding and one off by more."""
    C = hermitian(n, dtype=dtype)
    if n > 5:
        C[2, 3] = C[3, 2] = 0
        C[1, 4] *= 1 + (3e-6 if dtype == np.complex64 else 1e-14)
        C[4, 5] *= 1.5
    return C


def _limit(dtype):
    return math.sqrt(np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", ORDERS)
def test_one_look_finds_what_the_definition_says(n, dtype, monkeypatch):
    monkeypatch.setattr(reference, "_BLOCK_ENTRIES", 1000)
    C = _matrix(n, dtype)
    found = reference.examine_matrix(C, _limit(dtype))
    wide = np.triu(C.astype(np.complex128))
    full = np.abs(wide) + np.abs(np.triu(wide, 1)).T
    np.testing.assert_allclose(found.row_sums, full.sum(axis=1), rtol=1e-13)
    apart = np.abs(np.triu(C.astype(np.complex128) - C.astype(np.complex128).conj().T))
    assert found.asymmetry == pytest.approx(apart.sum(), rel=1e-9)
    assert (found.asymmetry > 0) == (n > 5)
    assert (found.suspects, found.zeros) == ((1, 1) if n > 5 else (0, 0))
    assert found.largest == pytest.approx(np.abs(wide).max(), rel=1e-6)
    assert found.not_finite == -1
    assert found.is_real == (n == 1)
    assert reference.examine_matrix(C.real.astype(dtype), _limit(dtype)).is_real
    if n > 30:
        C[30, 7], C[20, 30] = np.nan, np.inf
        assert reference.examine_matrix(C, _limit(dtype)).not_finite == 20 * n + 30


@needs_device
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("n", ORDERS)
def test_the_kernel_finds_the_same_in_a_matrix(n, dtype):
    from angsync.kernels.cuda.examine import examine_matrix

    cupy = _arrays.cupy()
    C = _matrix(n, dtype)
    view = cupy.asarray(np.pad(C, ((3, 3), (5, 8))))[3 : 3 + n, 5 : 5 + n]
    expected = reference.examine_matrix(C, _limit(dtype))
    for given in (cupy.asarray(C), cupy.asarray(np.asfortranarray(C)), view):
        found = examine_matrix(given, _limit(dtype))
        for name in ("not_finite", "suspects", "zeros", "is_real"):
            assert getattr(found, name) == getattr(expected, name)
        assert found.largest == pytest.approx(expected.largest, rel=1e-12)
        assert found.asymmetry == pytest.approx(expected.asymmetry, rel=1e-9)
        np.testing.assert_allclose(found.row_sums, expected.row_sums, rtol=1e-12)
    for place in ((0, n - 1), (n - 1, 0), (n // 2, n // 3), (n // 3, n // 2), (n - 1, n - 1)):
        wrong = C.copy()
        wrong[place] = complex(0, -np.inf)
        assert examine_matrix(cupy.asarray(wrong), _limit(dtype)).not_finite == place[0] * n + place[1]
    if n > 30:
        C[30, 7], C[20, 30] = np.nan, np.inf
        assert examine_matrix(cupy.asarray(C), _limit(dtype)).not_finite == 20 * n + 30


def _sparse_stack(count, n):
    """Ten full problems, one of zeros, and others of every density."""
    rng = np.random.default_rng(n)
    values = rng.standard_normal((count, n, n)) + 1j * rng.standard_normal((count, n, n))
    density = rng.uniform(0, 1, count) ** 2 * 6 / n
    density[:10], density[10] = 1, 0
    upper = np.triu(np.where(rng.random((count, n, n)) < density[:, None, None], values, 0), 1)
    return (upper + upper.conj().swapaxes(1, 2) + np.eye(n)).astype(np.complex64)


@needs_device
@pytest.mark.parametrize("n", [2, 3, 10, 12, 13, 20, 31, 32, 33, 64, 65, 128])
def test_the_kernels_of_a_stack_count_pieces_and_see_what_is_not_hermitian(n):
    from angsync.kernels.cuda import batch as cuda_batch
    from angsync.kernels.cuda import proof as cuda_proof

    cupy = _arrays.cupy()
    C = _sparse_stack(60, n)
    options = {"fixed_start": chirp(n), "tolerance": 1e-4, "max_iterations": 500, "power_steps": 20}
    first = first_of_piece(C != 0)
    pieces = count_pieces(first)
    for node in (0, n - 1):
        arrays = cuda_batch.solve_batch(cupy.asarray(C), gauge_node=node, **options)
        found = {name: array.get() for name, array in arrays.items()}
        np.testing.assert_array_equal(found["components"], pieces)
        converged = found["status"] != 1
        expected = np.where(pieces == 1, 0, np.where(pieces == n, 5, 6))
        np.testing.assert_array_equal(found["status"][converged], expected[converged])
        assert found["told"][1] == np.count_nonzero(found["status"])
        assert found["told"][2] == cuda_batch.NONE_ASYMMETRIC
        at_one = np.where(first == first[:, node : node + 1], node, first)
        assert (np.take_along_axis(found["z"], at_one, axis=1) == 1).all()
    fields = cuda_proof.prove_batch(cupy.asarray(C), arrays["z"])
    known = {name: found[name] for name in ("status", "components")} | {"skew": np.linspace(0, 1, 60)}
    fields_array = cuda_proof.proved(cupy.asarray(C), arrays["z"])
    told = (arrays["status"], arrays["components"], cupy.asarray(known["skew"]))
    count = cupy.full(1, 7, dtype=cupy.uint64)
    claims = cuda_proof.claim_batch(fields_array, *told, n, GAP_TOLERANCE, open_=count)
    assert int(count[0]) == 7 + np.count_nonzero(claims["verdict"].get())
    expected = certificates({name: fields[name].get() for name in FIELDS} | known, n)
    for name, values in expected.items():
        np.testing.assert_allclose(claims[name].get(), values, rtol=1e-12, err_msg=name)
    wrong = C.copy()
    wrong[9, 0, n - 1] += 1e-3 + np.abs(wrong[9, 0, n - 1])
    assert cuda_batch.solve_batch(cupy.asarray(wrong), **options)["told"].get()[2] == 9
    near = C.copy()
    near[9, 0, n - 1] *= np.float32(1 + 3e-7)
    apart = np.abs(np.triu(near - near.conj().swapaxes(1, 2), 1)).sum(axis=(1, 2))
    skew = cuda_batch.solve_batch(cupy.asarray(near), polish_steps=2, **options)["skew"].get()
    # of parts, and near the diagonal twice: within 2 sqrt(2) of what it bounds
    assert ((apart <= skew) & (skew <= 3 * apart)).all()
    assert skew[9] > 0
    assert cuda_batch.solve_batch(cupy.asarray(near), **options)["told"].get()[2] == cuda_batch.NONE_ASYMMETRIC
    near[4, n - 1, 0] = np.nan
    found = cuda_batch.solve_batch(cupy.asarray(near), **options)
    assert (int(found["status"][4]), int(found["components"][4])) == (2, 0)
