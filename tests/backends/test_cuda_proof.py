"""Proofs of batches on a device: the twin against eigenvalues and the proofs of the host, the kernel against it."""

import numpy as np
import pytest
from devices import needs_device
from problems import coherence

import angsync as ang
from angsync.batch.on_device import _proved, solve_batch_on_device
from angsync.certificate.stacked import certificates
from angsync.kernels.batch.numbers import chirp
from angsync.kernels.cuda import proof_reference as proof
from angsync.kernels.cuda import reference
from angsync.problem import array_libraries as _arrays


def _stack(count, n, looks=50, decay=10.0):
    return coherence(n, count, looks, floor=0.1, decay=decay, seed=4, turned=False).astype(np.complex64)


def _solved(C):
    n = C.shape[1]
    found = reference.solve_batch(C, fixed_start=chirp(n), tolerance=1e-5, max_iterations=500, power_steps=20)
    return found["z"]


def _smallest_over_complement(C, z):
    """The smallest eigenvalue of S over the complement of z, in double precision by eigh."""
    n = C.shape[1]
    z = z.astype(complex) / np.abs(z)
    H = C.astype(complex)
    H[:, np.arange(n), np.arange(n)] = 0
    s = (z.conj() * (H @ z[:, :, None])[:, :, 0]).real
    S = -H
    S[:, np.arange(n), np.arange(n)] = s
    u = z / np.sqrt(n)
    P = np.eye(n) - u[:, :, None] * u.conj()[:, None, :]
    # z itself is lifted out of the way
    return np.linalg.eigvalsh(P @ S @ P + 1e3 * n * u[:, :, None] * u.conj()[:, None, :])[:, 0]


@pytest.mark.parametrize("n", [2, 7, 16, 33])
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize(("shares", "single"), [(proof.SINGLE, True), (proof.DOUBLE, False), (proof.EVERY, False)])
def test_the_bound_is_a_bound(n, hard, shares, single):
    C = _stack(40, n, looks=8 if hard else 50, decay=2.0 if hard else 10.0)
    z = _solved(C)
    bound = proof.prove_batch(C, z, shares=shares, single=single)["bound"]
    true = _smallest_over_complement(C, z)
    # eigh is good to about n 2.2e-16 |S|, which is far below 1e-10
    assert (bound <= true + 1e-10).all()
    assert np.isfinite(bound).all()
    if not hard:
        assert (bound > 0).all()


def test_what_a_library_returns_for_a_factor_is_not_believed(monkeypatch):
    """Where a matrix is not positive definite, some libraries return numbers all the same."""
    C = _stack(40, 16, looks=8, decay=2.0)
    z = _solved(C)
    honest = proof.prove_batch(C, z, shares=proof.EVERY, single=False)["bound"]
    assert (honest < 0).any()
    monkeypatch.setattr(proof, "_factor", lambda A, xp: np.tril(A))
    found = proof.prove_batch(C, z, shares=proof.EVERY, single=False)["bound"]
    assert (found <= honest).all()


@pytest.mark.parametrize("n", [2, 3, 7, 16, 33])
@pytest.mark.parametrize("hard", [False, True])
def test_the_bound_by_norms_is_a_bound(n, hard):
    C = _stack(40, n, looks=8 if hard else 50, decay=2.0 if hard else 10.0)
    z = _solved(C)
    bound = proof.prove_batch(C, z, shares=(), single=True)["bound"]
    true = _smallest_over_complement(C, z)
    assert (bound <= true + 1e-10).all()
    # at a point that is no optimum too
    z[:, 0] *= 1j
    bound = proof.prove_batch(C, z, shares=(), single=True)["bound"]
    assert (bound <= _smallest_over_complement(C, z) + 1e-10).all()


@pytest.mark.parametrize("n", [2, 5, 12])
def test_the_bound_by_norms_is_exact_where_all_eigenvalues_are_the_same(n):
    """C = z z^H without its diagonal: S = n over the complement of z."""
    z = np.exp(1j * np.arange(n)).astype(np.complex64)[None]
    C = z[:, :, None] * z[:, None, :].conj()
    bound = proof.prove_batch(C, z, shares=(), single=True)["bound"]
    # entries of single precision are off by 1e-7; the rounding of sums, with rows of at most sqrt(2) n, is under a root
    rounding = np.sqrt(8 * (n**2 + 64) * 2.0**-53 * 2 * n**3)
    np.testing.assert_allclose(bound, n, rtol=0, atol=1e-6 * n + rounding)


def test_rounding_is_taken_off_the_bound_by_norms():
    """The same with entries that are exact: nothing is spread, and what may have been rounded is all that is left."""
    n = 16
    C = np.ones((1, n, n), dtype=np.complex64)
    bound = proof.prove_batch(C, np.ones((1, n), dtype=np.complex64), shares=(), single=True)["bound"][0]
    # sqrt(8 (n^2 + 64) 2^-53 sum of squared rows) = sqrt(8 * 320 * 16 * 15^2 * 1.1e-16) = 3.2e-5
    assert n - 4e-5 < bound < n - 3e-5


def test_a_bound_is_not_far_from_the_truth():
    C = _stack(40, 16)
    z = _solved(C)
    true = _smallest_over_complement(C, z)
    bound = proof.prove_batch(C, z, shares=proof.SINGLE, single=True)["bound"]
    # the norms of such problems leave more than two thirds of the smallest s_j, and lambda_2 is near that
    assert (bound > 0.6 * true).all()


def test_a_factorization_raises_what_norms_leave_low():
    C = _stack(60, 20, looks=20, decay=3.0)
    z = _solved(C)
    norms = proof.prove_batch(C, z, shares=(), single=True)["bound"]
    bound = proof.prove_batch(C, z, shares=proof.SINGLE, single=True)["bound"]
    assert (bound >= norms).all()
    assert ((norms < 0) & (bound > 0)).mean() > 0.3
    low = (norms > 0) & (bound > norms)
    assert low.any()  # a bound that is positive and low is not enough
    true = _smallest_over_complement(C, z)
    # shifts of a quarter and of 3 % of the smallest s_j, which is not much above lambda_2
    assert (bound > 0)[true > 0.1 * np.abs(C).sum(axis=2).min(axis=1)].all()


@pytest.mark.parametrize(("shares", "single"), [(proof.SINGLE, True), (proof.EVERY, False)])
def test_the_order_of_the_shifts_does_not_change_the_bound(shares, single, monkeypatch):
    C = _stack(60, 20, looks=8, decay=2.0)
    z = _solved(C)
    found, tries = [], []
    factorizes = proof._factorizes

    def counted(*arguments):
        tries[-1] += 1
        return factorizes(*arguments)

    monkeypatch.setattr(proof, "_factorizes", counted)
    for far in (-np.inf, np.inf):  # none are far; all are
        monkeypatch.setattr(proof, "FAR", far)
        tries.append(0)
        found.append(proof.prove_batch(C, z, shares=shares, single=single)["bound"])
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] > 0).any()
    assert (found[0] < 0).any()
    # where the shift just below 0 fails, those above it are not tried
    most = np.abs(C.real).sum(axis=2) + np.abs(C.imag).sum(axis=2)
    negative = found[0] < -0.02 * most.max(axis=1)
    for far in (-np.inf, np.inf):
        monkeypatch.setattr(proof, "FAR", far)
        tries.append(0)
        proof.prove_batch(C[negative], z[negative], shares=shares, single=single)
    assert tries[3] == tries[2] - sum(step > 0 for step in shares)


def test_a_point_that_is_no_optimum_is_not_certified():
    C = _stack(20, 12)
    z = _solved(C)
    z[:, 3] *= -1
    field = proof.prove_batch(C, z, shares=proof.EVERY, single=False)
    found = certificates({**field, "status": np.zeros(20)}, 12)
    assert (found["verdict"] == 1).all()
    best = reference.solve_batch(C, fixed_start=chirp(12), tolerance=1e-5, max_iterations=500, power_steps=20)
    here = np.einsum("ki,kij,kj->k", z.conj(), C, z).real
    assert (found["gap_bound"] >= best["objective"] - here - 1e-4).all()


@pytest.mark.parametrize("hard", [False, True])
def test_the_same_verdicts_as_on_the_host(hard):
    """The three passes as the device makes them, against the certificates of the batch kernels at the same point."""
    C = _stack(60, 20, looks=12 if hard else 50, decay=2.0 if hard else 10.0)
    host = ang.synchronize(C, on_failure="ignore")
    one = proof.prove_batch(C, host.z, shares=proof.SINGLE, single=True)
    two = proof.prove_batch(C, host.z, shares=proof.DOUBLE, single=False)
    near = (one["bound"] <= 0) & (one["bound"] >= proof.NEAR_ZERO_SHARE * one["rows_most"])
    field = one | {"bound": np.where(near, np.maximum(one["bound"], two["bound"]), one["bound"])}
    found = certificates({**field, "status": np.zeros(60)}, 20)
    np.testing.assert_array_equal(found["verdict"], host.verdict)
    assert (found["verdict"] == 0).any()
    assert (found["verdict"] == 1).any() == hard


def test_nodes_without_measurements_take_no_part():
    C = _stack(5, 9)
    C[:, 4, :] = C[:, :, 4] = 0
    kept = np.delete(np.arange(9), 4)
    z = np.ones((5, 9), dtype=np.complex64)
    z[:, kept] = _solved(C[:, kept][:, :, kept])
    whole = proof.prove_batch(C, z, shares=proof.EVERY, single=False)
    part = proof.prove_batch(C[:, kept][:, :, kept], z[:, kept], shares=proof.EVERY, single=False)
    for name in proof.FIELDS:
        np.testing.assert_allclose(whole[name], part[name], rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(whole["nodes"], np.full(5, 8.0))


def test_what_is_not_finite_or_zero_is_left_alone():
    C = _stack(4, 6)
    clean = proof.prove_batch(C, _solved(C), shares=proof.EVERY, single=False)
    spoilt, z = C.copy(), _solved(C)
    spoilt[1, 0, 3], spoilt[2] = np.nan, 0
    z[1] = np.nan
    found = proof.prove_batch(spoilt, z, shares=proof.EVERY, single=False)
    assert np.isneginf(found["bound"][[1, 2]]).all()
    np.testing.assert_array_equal(found["bound"][[0, 3]], clean["bound"][[0, 3]])


def test_further_steps_lower_the_residual_of_what_has_converged():
    C = _stack(30, 12, looks=20, decay=4.0)
    rough = reference.solve_batch(C, fixed_start=chirp(12), tolerance=1e-2, max_iterations=500, power_steps=20)
    chosen = np.arange(30) != 3
    found = reference.polished(C, rough["z"], chosen)
    assert (found["residual"] <= rough["residual"] + 1e-7).all()
    assert (found["residual"] < 0.9 * rough["residual"]).mean() > 0.5
    np.testing.assert_array_equal(found["z"][3], rough["z"][3])
    np.testing.assert_allclose(np.abs(found["z"]), 1, atol=1e-6)
    exact = np.einsum("ki,kij,kj->k", found["z"].conj().astype(complex), C, found["z"]).real
    np.testing.assert_allclose(found["objective"], exact, rtol=1e-6)
    # C = -I + 1e-3 X turns every phase around: it has not converged, and nothing is done
    stuck = np.array([[[-1, 1e-3], [1e-3, -1]]], dtype=np.complex64)
    options = {"fixed_start": chirp(2), "tolerance": 1e-6, "max_iterations": 3, "power_steps": 0}
    end, further = (reference.solve_batch(stuck, polish_steps=steps, **options) for steps in (0, 1))
    assert end["status"] == 1
    np.testing.assert_array_equal(further["z"], end["z"])
    # with a shift of 2 the same problem is solved by such steps
    z = np.array([[1, np.exp(0.2j)]], dtype=np.complex64)
    shift = np.full((1, 1), 2, dtype=np.float32)
    shifted = reference.polished(stuck, z, np.array([True]), steps=20, shift=shift)
    np.testing.assert_allclose(shifted["z"][0, 1], shifted["z"][0, 0], atol=0.2)
    assert shifted["residual"][0] < 0.2


def test_a_solve_polishes_what_it_found():
    C = _stack(30, 12, looks=20, decay=4.0)
    options = {"fixed_start": chirp(12), "tolerance": 1e-2, "max_iterations": 500, "power_steps": 20}
    rough = reference.solve_batch(C, **options)
    found = reference.solve_batch(C, polish_steps=2, **options)
    expected = reference.polished(C, rough["z"], rough["status"] == 0)
    # products of C and of C times a power of two: the same bits
    np.testing.assert_array_equal(found["z"], expected["z"])
    np.testing.assert_allclose(found["objective"], expected["objective"], rtol=1e-6)
    np.testing.assert_array_equal(found["iterations"], rough["iterations"])
    np.testing.assert_array_equal(
        solve_batch_on_device(C, polish_steps=2, **_without_fixed_start(options))["z"], found["z"]
    )


def _without_fixed_start(options):
    return {name: value for name, value in options.items() if name != "fixed_start"}


@pytest.mark.parametrize("library", ["numpy", "jax", "torch"])
def test_proofs_of_any_library_in_chunks(library, monkeypatch):
    C = _stack(6, 5)
    z = _solved(C)
    whole = _proved(C, z)
    monkeypatch.setattr("angsync.batch.on_device._CHUNK_ENTRIES", 100)
    make = {"numpy": np.asarray}.get(library) or _maker(library)
    with _arrays.double_precision(make(C)):
        found = _proved(make(C), make(z))
    for name in proof.FIELDS:
        assert type(found[name]) is type(make(C))
        np.testing.assert_allclose(_arrays.to_numpy(found[name]), whole[name], rtol=1e-9)
    stack, points = make(C), make(z)
    step = reference.polished(stack, points, make(np.ones(6, dtype=bool)), xp=_arrays.namespace(stack))
    assert type(step["z"]) is type(points)
    assert tuple(step["z"].shape) == (6, 5)


def _maker(library):
    module = pytest.importorskip(library)
    if library == "jax":
        return lambda array: module.device_put(array, module.devices("cpu")[0])
    return lambda array: module.from_numpy(np.array(array))


@needs_device
@pytest.mark.parametrize("n", [1, 2, 5, 10, 12, 13, 20, 31, 32, 33, 64, 65, 128])
def test_proof_kernel(n):
    from angsync.kernels.cuda import proof as cuda_proof

    cupy = _arrays.cupy()
    C = np.concatenate([_stack(37, n), _stack(37, n, looks=8, decay=2.0)])
    C[3, 0, n - 1], C[5] = np.nan, 0
    C[9] *= np.float32(1e-20)
    with np.errstate(all="ignore"):
        z = _solved(C)
        one = proof.prove_batch(C, z, shares=proof.SINGLE, single=True)
        two = proof.prove_batch(C, z, shares=proof.DOUBLE, single=False)
    near = (one["bound"] <= 0) & (one["bound"] >= proof.NEAR_ZERO_SHARE * one["rows_most"])
    found = {name: array.get() for name, array in cuda_proof.prove_batch(cupy.asarray(C), cupy.asarray(z)).items()}
    fine = np.arange(74) != 3
    for name in proof.FIELDS[1:]:
        # the same sums in another order: n^2 terms of 1.1e-16 each, of at most n
        np.testing.assert_allclose(found[name][fine], one[name][fine], rtol=1e-9, atol=1e-12 * n * n)
    want = np.where(near, np.maximum(one["bound"], two["bound"]), one["bound"])
    # a pivot within rounding of 0 may fall to the other side: then another shift is the first to succeed
    assert np.isclose(found["bound"][fine], want[fine], rtol=1e-6).sum() >= 71
    assert (found["bound"][fine] <= _smallest_over_complement(C[fine], z[fine]) + 1e-9).all() or n == 1


@needs_device
@pytest.mark.parametrize("n", [1, 2, 5, 10, 20, 31, 32, 33, 64, 128])
def test_polishing_kernel(n):
    from angsync.kernels.cuda import batch as cuda_batch

    cupy = _arrays.cupy()
    C = np.concatenate([_stack(37, n), _stack(37, n, looks=8, decay=2.0)])
    C[3, 0, n - 1], C[5] = np.nan, 0
    fine = np.arange(74) != 3
    options = {"fixed_start": chirp(n), "tolerance": 1e-2, "max_iterations": 300, "power_steps": 3}
    rough = cuda_batch.solve_batch(cupy.asarray(C), **options)
    at_once = cuda_batch.solve_batch(cupy.asarray(C), polish_steps=2, **options)
    nothing_else = options | {"tolerance": 1.0, "max_iterations": 0, "power_steps": 0}  # all count as converged
    after = cuda_batch.solve_batch(cupy.asarray(C), start=rough["z"], polish_steps=2, **nothing_else)
    with np.errstate(all="ignore"):
        chosen = ~np.isin(rough["status"].get()[fine], (1, 2))
        expected = reference.polished(C[fine], rough["z"].get()[fine], chosen)
        expected["z"] = expected["z"] * expected["z"][:, :1].conj()
    for found in (at_once, after):
        # a residual of rounding errors may or may not be lowered by a step: such steps are as small as it is
        np.testing.assert_allclose(found["z"].get()[fine], expected["z"], atol=2e-5)
        np.testing.assert_allclose(found["residual"].get()[fine], expected["residual"], rtol=1e-2, atol=1e-6)
        np.testing.assert_allclose(found["objective"].get()[fine], expected["objective"], rtol=5e-6, atol=1e-6)
        assert np.isnan(found["objective"].get()[3]) or n == 1
    better = rough["residual"].get()[fine] > 1e-4
    assert (expected["residual"][better] < rough["residual"].get()[fine][better]).all() or n <= 2


@needs_device
def test_certificates_at_the_front_door_of_a_device():
    cupy = _arrays.cupy()
    C = _stack(200, 20)
    on_device, host = ang.synchronize(cupy.asarray(C)), ang.synchronize(C)
    assert all(isinstance(array, cupy.ndarray) for array in (on_device.z, on_device.gap_bound, on_device.certified))
    result = on_device.on_host()
    assert result.certified.all()
    assert (result.lambda_2 > 0).all()
    np.testing.assert_allclose(result.objective, host.objective, rtol=1e-5)
    assert ang.synchronize(cupy.asarray(C), certify=False).verdict is None
