"""``certificate.unique`` is a claim about the optimum: a real C has conj(z) beside every optimum z, exactly as good."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import angsync as ang
from angsync import Verdict

pytestmark = pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")


def real_problem(k: int, rng: np.random.Generator) -> np.ndarray:
    """A real C of one of four kinds."""
    n = int(rng.integers(3, 9))
    entries = (
        lambda: rng.standard_normal((n, n)),
        lambda: rng.choice([-1.0, 1.0], (n, n)),
        lambda: -np.ones((n, n)) + 0.3 * rng.standard_normal((n, n)),
        lambda: np.ones((n, n)) + 0.7 * rng.standard_normal((n, n)),
    )[k % 4]()
    C = np.triu(entries, 1)
    return C + C.T


def mirror_distance(z: np.ndarray) -> float:
    """How far z is from its mirror image: 0 where z is real up to a phase, 2 at most."""
    z = z.astype(complex) / np.abs(z)
    return float(2 - 2 * abs((z * z).mean()))


def count_claims(problems: int, seed: int) -> tuple[int, int, int]:
    """Problems, claims of uniqueness, and false ones among them."""
    rng = np.random.default_rng(seed)
    claims = false = 0
    for k in range(problems):
        C = real_problem(k, rng)
        # a third as it is, a third turned by random phases, which hides that it is real, a third in single precision
        turn = np.exp(2j * np.pi * rng.random(len(C))) if k % 3 == 1 else np.ones(len(C))
        turned = np.triu(turn[:, None] * C * turn.conj(), 1)
        turned = (turned + turned.conj().T).astype(np.complex64 if k % 3 == 2 else np.complex128)
        result = ang.synchronize(turned, on_failure="ignore")
        if result.certificate.unique:
            claims += 1
            assert result.certificate.verdict is Verdict.CERTIFIED
            # Where the optimum is unique it is real up to a phase, and z as near to it as its residual allows: in
            # single precision that is 1e-5 times a condition number of up to 1000, squared.
            false += mirror_distance(result.z * turn.conj()) > (1e-7 if turned.dtype == np.complex128 else 1e-4)
    return problems, claims, false


def test_no_false_claim_in_real_problems():
    problems, claims, false = count_claims(1200, seed=5)
    assert false == 0
    assert claims > problems / 3  # and the claim is made, not avoided


@pytest.mark.slow
def test_no_false_claim_in_ten_thousand_real_problems():
    problems, claims, false = count_claims(10_000, seed=12)
    assert false == 0
    assert claims > problems / 3


@pytest.mark.parametrize("method", ["cholesky", "lanczos", "factorization"])
@pytest.mark.parametrize("tolerance", [1e-8, 1e-3])
def test_no_method_claims_it_near_one_of_two_optima(method, tolerance):
    rng = np.random.default_rng(3)
    certified = claims = 0
    for k in range(60):
        C = real_problem(k, rng)
        best = ang.synchronize(C, on_failure="ignore", stopping=ang.Stopping(tolerance=1e-14)).z
        for step in (0.0, 1e-12, 1e-9, 1e-6, 1e-4, 1e-3, 1e-2):
            z = best * np.exp(1j * step * rng.standard_normal(len(C)))
            data = scipy.sparse.csr_array(C) if method == "factorization" else C
            certificate = ang.certify(data, z, method=method, tolerance=tolerance)
            certified += certificate.verdict is Verdict.CERTIFIED
            claims += certificate.unique
            assert not (certificate.unique and mirror_distance(best) > 1e-7)
    assert certified > 100
    assert claims > 50


@pytest.mark.parametrize("eta", [1e-3, 1e-2, 0.1, 0.5, 1.0])
def test_a_point_beside_one_of_two_mirror_images(eta):
    # the optima of this triangle are (0, eta, -eta) and (0, -eta, eta)
    a = 1 / (2 * np.cos(eta))
    C = np.array([[0, 1, 1], [1, 0, -a], [1, -a, 0]])
    for step in (0, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4):
        assert not ang.certify(C, np.exp(1j * (eta + step) * np.array([0, 1, -1]))).unique


def test_a_negative_triangle_from_all_sides():
    C = -(np.ones((3, 3)) - np.eye(3))
    rng = np.random.default_rng(0)
    for step in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7):
        for _ in range(40):
            angles = 2 * np.pi * np.arange(3) / 3 + step * rng.standard_normal(3)
            assert not ang.certify(C, np.exp(1j * angles)).unique
    # with an anchor, and beside a component whose optimum is unique
    assert not ang.synchronize(C, anchors={0: 0.0}, on_failure="ignore").certificate.unique
    pair = np.array([[0, 1j], [-1j, 0]])
    both = ang.synchronize(scipy.linalg.block_diag(C, pair), on_failure="ignore")
    assert both.certificate.verdict is Verdict.CERTIFIED
    assert not both.certificate.unique
    assert ang.synchronize(scipy.linalg.block_diag(np.ones((3, 3)), pair)).certificate.unique


def ordinary_problems():
    for seed in range(3):
        for n, share in ((5, 0.1), (20, 0.3), (100, 0.02), (100, 0.3), (300, 0.1), (420, 0.35)):
            yield ang.simulate.gaussian(n, share * n**0.5, rng=seed).C
        yield ang.simulate.gaussian(60, 1.0, rng=seed).C.astype(np.complex64)
        yield aslinearoperator(ang.simulate.gaussian(150, 1.0, rng=seed).C)
        for side, noise in ((5, 0.4), (20, 0.2), (40, 0.4)):
            yield ang.simulate.grid(side, side, noise, rng=seed).C
        yield ang.simulate.erdos_renyi(400, 0.02, 0.3, rng=seed).measurements
        yield ang.simulate.ring(200, 0.02, rng=seed).C


def test_it_is_claimed_of_ordinary_problems():
    for data in ordinary_problems():
        certificate = ang.synchronize(data).certificate
        assert certificate.verdict is Verdict.CERTIFIED
        assert certificate.unique


def test_uniqueness_is_claimed_of_proved_optima_alone():
    """Stopped at its first iterate, the point is refuted, though the optimum is unique and that could be proved."""
    C = ang.simulate.gaussian(100, 0.5, rng=0).C
    certificate = ang.synchronize(C, callback=lambda progress: True, on_failure="ignore").certificate
    assert certificate.verdict is not ang.Verdict.CERTIFIED
    assert not certificate.unique
