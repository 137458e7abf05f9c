"""Anderson's method on the model of a dense problem: compiled against NumPy, from C itself and from its narrow copy."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.kernels.dense import anderson

compiled = pytest.importorskip(
    "angsync.kernels.dense.compiled", reason="the compiled kernels are not built", exc_type=ImportError
)


def models(C):
    """The same problem in NumPy, compiled from C itself, and from the narrow copy."""
    copy = compiled.dense_inspect(C, narrow=True).narrow
    yield anderson.DenseModel(lambda x: C @ x)
    yield compiled.DenseModel(C, None, len(C))
    yield compiled.DenseModel(C, copy, len(C))


@pytest.mark.parametrize("n", [50, 131, 420])
def test_a_rough_leading_eigenvector(n):
    C = ang.simulate.gaussian(n, 0.3 * n**0.5, rng=0).C
    values, vectors = np.linalg.eigh(C)
    x = np.conj(C[0])
    found = [model.leading(x, 0.02) for model in models(C)]
    for v, products, _ in found:
        residual = np.linalg.norm(C @ v - np.vdot(v, C @ v).real / np.vdot(v, v).real * v) / np.linalg.norm(v)
        # C times a vector whose residual is 0.02: a power step does not make it worse
        assert residual <= 0.021 * values[-1] or products == anderson.MEMORY
        assert abs(np.vdot(v, vectors[:, -1])) / np.linalg.norm(v) > 0.9
        assert products == found[0][1]
        assert np.allclose(v, found[0][0], atol=1e-3 * np.abs(v).max())


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_an_inner_solve_compiled_is_that_of_numpy(share):
    n = 420
    C = ang.simulate.gaussian(n, share * n**0.5, rng=0).C
    z = np.exp(1j * np.angle(C[:, 0]))
    solves = [m.accelerate(z, None, target=1e-4, budget=100, noise=1e-7, patience=6) for m in models(C)]
    expected = solves[0]
    assert expected.ending is anderson.Ending.REACHED
    for found in solves[1:]:
        assert found.ending is expected.ending
        assert found.products == expected.products
        assert found.residual <= 1e-4
        # the error of the copy, 1e-5 or so, and the rounding of sums in single precision move a solution by as much
        assert ang.distance(found.z / np.abs(found.z), expected.z / np.abs(expected.z)) < 2e-3
        w = C @ found.z
        assert np.linalg.norm(np.imag(np.conj(found.z) * w)) <= 2e-4 * np.linalg.norm(w)


def test_around_a_known_point_the_model_is_exact_to_second_order():
    n = 420
    C = ang.simulate.gaussian(n, 0.2 * n**0.5, rng=0).C
    for model in models(C):
        z = np.exp(1j * np.angle(C[:, 0]))
        z = model.accelerate(z, None, target=1e-5, budget=100, noise=1e-7, patience=6, share=0.3).z
        z = z / np.abs(z)
        found = model.accelerate(z, C @ z, target=3e-11, budget=100, noise=1e-14, patience=6)
        assert found.ending is anderson.Ending.REACHED
        w = C @ found.z
        # gradient of the model below 3e-11; the copy is off by 1e-5 of what a point 1e-5 away makes of it
        assert np.linalg.norm(np.imag(np.conj(found.z) * w)) <= 4e-10 * np.linalg.norm(w)


def test_an_inner_solve_ends_when_it_has_to():
    C = ang.simulate.gaussian(420, 0.3 * 420**0.5, rng=0).C
    z = np.exp(1j * np.angle(C[:, 0]))
    for model in models(C):
        short = model.accelerate(z, None, target=1e-12, budget=5, noise=1e-7, patience=6)
        assert short.ending is anderson.Ending.OUT_OF_BUDGET
        assert short.products == 5
        assert np.vdot(short.z, C @ short.z).real >= np.vdot(z, C @ z).real
    # nothing but a maximum of -C to find: steps of the power method on an indefinite matrix go down
    for model in models(C - 800 * np.eye(420)):
        stuck = model.accelerate(z, None, target=1e-12, budget=200, noise=1e-14, patience=2)
        assert stuck.rejected > 0
        assert stuck.ending is not anderson.Ending.REACHED


def test_least_squares_leaves_out_what_is_spanned_already():
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((30, 4))
    columns[:, 2] = columns[:, 0] - 2 * columns[:, 1]
    right = rng.standard_normal(30)
    c = anderson.least_squares(columns.T @ columns, columns.T @ right)
    assert c[2] == 0
    kept = columns[:, [0, 1, 3]]
    assert np.allclose(c[[0, 1, 3]], np.linalg.lstsq(kept, right, rcond=None)[0])


def test_the_first_solve_ends_at_the_error_of_the_copy():
    C = ang.simulate.gaussian(420, 0.3 * 420**0.5, rng=0).C
    z = np.exp(1j * np.angle(C[:, 0]))
    copy = compiled.dense_inspect(C, narrow=True).narrow
    model = compiled.DenseModel(C, copy, len(C))
    found = model.accelerate(z, None, target=0.0, budget=100, noise=1e-7, patience=6, share=1.0)
    # no residual is 0 in single precision: only the share of the error can have ended it
    assert found.ending is anderson.Ending.REACHED
    size = np.linalg.norm(C @ found.z)
    assert found.residual * size <= 1.001 * model.error
    assert found.trace[-2, 1] * size > 0.9 * model.error


def test_an_inner_solve_gives_its_product_and_begins_at_one_that_is_known():
    C = ang.simulate.gaussian(420, 0.2 * 420**0.5, rng=0).C
    z = np.exp(1j * np.angle(C[:, 0]))
    options = {"target": 1e-10, "budget": 100, "noise": 1e-14, "patience": 6}
    for model in (*list(models(C))[:2], compiled.dense_model(lambda x: C @ x, None, 420)):
        found = model.accelerate(z, None, **options)
        w = C @ found.z
        assert np.linalg.norm(found.image - w) <= 1e-13 * np.linalg.norm(w)
        model.forget()
        known = model.accelerate(z, None, known=C @ z, **options)
        assert known.products == found.products - 1
        assert np.abs(known.z - found.z).max() < 1e-9


@pytest.mark.parametrize("at", range(1, 9))
def test_what_a_product_raises_leaves_the_point_that_was_reached(at):
    C = ang.simulate.gaussian(100, 2.0, rng=0).C
    z = np.exp(1j * np.angle(C[:, 0]))
    count = []

    def product(x):
        count.append(x)
        if len(count) > at:
            raise KeyboardInterrupt
        return C @ x

    for model in (anderson.DenseModel(product), compiled.dense_model(product, None, 100)):
        count.clear()
        found = model.accelerate(z, None, target=1e-14, budget=100, noise=1e-14, patience=6)
        assert isinstance(found.error, KeyboardInterrupt)
        assert found.ending is anderson.Ending.FAILED
        assert len(found.trace) == at - 1
        w = C @ found.z
        assert np.linalg.norm(found.image - w) <= 1e-13 * np.linalg.norm(w)


def test_a_random_vector_leads_beyond_the_noise_or_says_that_it_does_not():
    x = np.random.default_rng(0).standard_normal(300) + 0j
    grid = ang.simulate.grid(20, 15, 0.1, rng=0).C
    for C, clear in ((ang.simulate.gaussian(300, 0.3 * 300**0.5, rng=0).C, True), (grid, False)):
        for model in (anderson.DenseModel(lambda v, C=C: C @ v), compiled.dense_model(lambda v, C=C: C @ v, None, 300)):
            v, products, found = model.leading(x, 0.4, C @ x, 0.75)
            assert found is clear
            assert products <= anderson.MEMORY - 1
            quotient = np.vdot(v, C @ v).real / np.vdot(v, v).real
            assert not clear or quotient > 0.8 * np.linalg.eigvalsh(C)[-1]
