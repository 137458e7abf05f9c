"""The short proof of a C that is known by its products."""

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator

import angsync as ang
from angsync import kernels
from angsync.certificate import GAP_TOLERANCE, by_products
from angsync.certificate.bounds.lanczos import FAILURE, lanczos_bound
from angsync.certificate.by_products import certify_by_products
from angsync.certificate.certify import certify_component
from angsync.problem.components import normalized
from angsync.solvers.stopping import Clock

pytestmark = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")


class Counted:
    """A matrix as a LinearOperator that counts its products."""

    def __init__(self, C):
        self.C, self.products = C, 0
        self.operator = LinearOperator(C.shape, matvec=self._product, dtype=complex)

    def _product(self, x):
        self.products += 1
        return self.C @ x


def gaussian(n, share, seed):
    """Signal and noise of ``share`` times sqrt(n)."""
    return ang.simulate.gaussian(n, share * n**0.5, rng=seed).C


def least_on_complement(C, z):
    s = np.real(np.conj(z) * (C @ z))
    u = z / np.linalg.norm(z)
    P = np.eye(z.size) - np.outer(u, u.conj())
    return np.linalg.eigvalsh(P @ (np.diag(s) - C) @ P + 10 * np.abs(s).max() * np.outer(u, u.conj()))[0]


@pytest.mark.parametrize("share", [0.01, 0.1, 0.25])
def test_it_claims_what_the_general_way_claims_and_takes_fewer_products(share):
    counted = Counted(gaussian(250, share, 3))
    operator = ang.as_operator(counted.operator)
    z = ang.synchronize(counted.C).phases
    Cz = counted.C @ z
    counted.products = 0
    short = certify_by_products(operator, z, Cz, GAP_TOLERANCE)
    few, counted.products = counted.products, 0
    part = normalized(operator)
    general = certify_component(
        part, z, tolerance=GAP_TOLERANCE, method="lanczos", clock=Clock(), rng=np.random.default_rng(1),
        turned_product=Cz * 2.0**-part.exponent,
    )  # fmt: skip
    assert few < counted.products
    exact = least_on_complement(counted.C, z)
    assert short.verdict is ang.Verdict.CERTIFIED
    assert short.unique
    assert 0 < short.lambda_2 < exact
    assert short.confidence == general.confidence
    assert short.method == general.method
    assert short.scale == pytest.approx(np.ldexp(general.scale, part.exponent), rel=1e-12)
    # the norm of C, which rounding is relative to, is proved anew in each run, and not to the last digit
    assert short.gap_bound == pytest.approx(np.ldexp(general.gap_bound, part.exponent), rel=0.2)


@pytest.mark.parametrize("seed", range(8))
def test_points_that_are_not_optimal_are_not_proved(seed):
    counted = Counted(gaussian(220, 0.2, seed))
    operator = ang.as_operator(counted.operator)
    rng = np.random.default_rng(seed)
    best = ang.synchronize(counted.C).phases
    for z in (np.exp(2j * np.pi * rng.random(220)), best * np.exp(1e-3j * rng.standard_normal(220)), best.conj()):
        assert certify_by_products(operator, z, counted.C @ z, GAP_TOLERANCE) is None


def test_a_vector_mostly_along_z_is_no_start(monkeypatch):
    counted = Counted(gaussian(220, 0.05, 0))
    operator = ang.as_operator(counted.operator)
    z = ang.synchronize(counted.C).phases
    vectors, images = operator.probes()
    monkeypatch.setattr(operator, "_probes", type(operator.probes())([vectors[0], z], [images[0], counted.C @ z]))
    assert certify_by_products(operator, z, counted.C @ z, GAP_TOLERANCE) is None


def test_other_random_numbers_are_other_random_numbers():
    counted = Counted(gaussian(250, 0.05, 1))
    bounds = [ang.synchronize(counted.operator, rng=seed).certificate.lambda_2 for seed in (0, 1, 2)]
    assert len(set(bounds)) == 3


def test_a_solve_takes_no_product_twice():
    # the search begins at a probe, the proof at the other one, and the last product of the search is that of the answer
    counted = Counted(gaussian(300, 0.1 / 300**0.5, 300))
    result = ang.synchronize(counted.operator)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert counted.products <= 11
    z = result.phases
    exact = (counted.C.astype(np.clongdouble) @ z).astype(complex)
    # two products of 300 terms each, the second of a way of a hundredth: a few units of the row sums
    assert np.abs(result.product - exact).max() < 30 * 2.0**-53 * np.abs(counted.C).sum(axis=1).max()


def test_products_may_lie_in_memory_as_they_like():
    C = gaussian(250, 0.05, 2)
    strided = LinearOperator(C.shape, matvec=lambda x: np.stack([C @ x, x], axis=1)[:, 0], dtype=complex)
    plain = ang.synchronize(Counted(C).operator)
    assert ang.synchronize(strided).certificate == plain.certificate


def test_the_general_way_follows_with_what_is_left_of_the_probability(monkeypatch):
    asked = []

    def noted(*arguments, failure, **settings):
        asked.append(failure)
        return lanczos_bound(*arguments, failure=failure, **settings)

    monkeypatch.setattr("angsync.certificate.bounds.lanczos.lanczos_bound", noted)
    monkeypatch.setattr(by_products, "_STEPS", 2)  # too few for a proof
    result = ang.synchronize(Counted(gaussian(250, 0.2, 4)).operator)
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    # it may take two runs, each for both ends
    assert asked == [pytest.approx(by_products.LEFT * FAILURE / 4)]
    assert by_products._LOWER + by_products._UPPER + by_products.LEFT <= 1 + 1e-12
