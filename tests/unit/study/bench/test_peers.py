"""What the benchmark solves, and the methods of others that it is compared with."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import hyp2f1

from angsync import synchronize
from angsync.study.bench import dense, peers, problems, ways


def test_noise_levels_mean_what_their_names_say():
    assert [problems.sigma_of(level, 16) for level in problems.LEVELS] == pytest.approx([0.1, 1.0, 1.2, 1.6, 2.0])


@pytest.mark.parametrize("kind", ["easy", "hard"])
def test_stacks_are_coherence_matrices(kind):
    stack = problems.coherence_stack(6, 1001, kind, 3)
    assert (stack.shape, stack.dtype) == ((1001, 6, 6), np.complex64)
    assert np.array_equal(stack, stack.conj().swapaxes(1, 2))
    # entries are rounded to 2^-24; a diagonal of quotients has a few such errors, an eigenvalue at most n of them
    assert np.abs(np.einsum("kii->ki", stack) - 1).max() < 1e-6
    assert np.linalg.eigvalsh(stack.astype(complex)).min() > -1e-5
    assert np.array_equal(stack, problems.coherence_stack(6, 1001, kind, 3))
    assert not np.array_equal(stack, problems.coherence_stack(6, 1001, kind, 4))


@pytest.mark.parametrize(("kind", "looks", "near", "far"), [("easy", 32, 0.7614, 0.3379), ("hard", 8, 0.6262, 0.0787)])
def test_stacks_have_the_coherence_of_their_model(kind, looks, near, far):
    # n = 8: near and far are the model at lags 1 and 7. The mean square of a sample coherence of L looks (Carter, Knapp
    # and Nuttall 1973) is 1/L + (L-1)/(L+1) g^2 2F1(1, 1; L+2; g^2); five standard errors fail once in 10^6.
    stack = problems.coherence_stack(8, 20_000, kind, 0)
    for lag, g in ((1, near), (7, far)):
        found = np.abs(stack[:, 0, lag].astype(complex)) ** 2
        expected = 1 / looks + (looks - 1) / (looks + 1) * g**2 * hyp2f1(1, 1, looks + 2, g**2)
        assert abs(found.mean() - expected) < 5 * found.std() / 20_000**0.5


def test_values_of_a_stack_are_those_of_its_problems():
    stack = problems.coherence_stack(5, 4, "easy", 0).astype(complex)
    z = 3 * np.exp(1j * np.arange(20.0)).reshape(4, 5)  # the modulus must not matter
    expected = [problems.value(C, x / 3) for C, x in zip(stack, z, strict=True)]
    assert problems.values(stack, z) == pytest.approx(expected, rel=1e-14)


class Counted:
    """A matrix that counts its products."""

    def __init__(self, C):
        self.C, self.shape, self.dtype, self.products = C, C.shape, C.dtype, 0

    def __matmul__(self, x):
        self.products += 1
        return self.C @ x


def test_the_naive_code_is_solved_and_its_products_are_counted():
    C = ways.outer_plus_noise(60, "0.3 sqrt(n)", 0)
    counted = Counted(C)
    z, products = peers.naive_counted(counted, 1e-10)
    assert products == counted.products > 10
    Cz = C @ z
    assert np.linalg.norm((z.conj() * Cz).imag) <= 1e-10 * np.linalg.norm(Cz)
    assert problems.value(C, z) == pytest.approx(synchronize(C, certify=False).objective, rel=1e-13)
    assert np.array_equal(peers.naive(C, 1e-10), z)


def test_trust_regions_and_the_relaxation_end_at_the_same_objective():
    pytest.importorskip("pymanopt")
    pytest.importorskip("cvxpy")
    C = ways.outer_plus_noise(12, "n^(1/4)/2", 0)
    best = problems.value(C, peers.naive(C, 1e-10))
    start = np.ones(12, dtype=complex)
    assert problems.value(C, peers.trust_regions(C, start, 60.0)) == pytest.approx(best, rel=1e-12)
    solve = peers.relaxation_by_scs(C)
    first, again = solve(), solve()
    assert problems.value(C, first) == pytest.approx(best, rel=dense.ROUNDED)
    assert np.array_equal(first, again)  # not warm started


def test_peers_of_stacks():
    stack = problems.coherence_stack(6, 50, "easy", 1)
    z = peers.batched_gpm(stack)
    Cz = np.matmul(stack, z[:, :, None])[:, :, 0]
    turned = np.linalg.norm((z.conj() * Cz).imag, axis=1) / np.linalg.norm(Cz, axis=1)
    assert turned.max() < 2e-5  # it stops one step after 1e-5
    u = peers.leading_phases(stack)
    exact = np.linalg.eigh(stack.astype(complex))[1][:, :, -1]
    exact /= np.abs(exact)
    overlap = np.abs(np.sum(u.conj() * exact, axis=1)) / 6
    assert overlap.min() > 1 - 1e-5
    assert np.array_equal(peers.by_workers(peers.batched_gpm, stack, 3).shape, z.shape)
    assert np.allclose(problems.values(stack, peers.by_workers(peers.batched_gpm, stack, 3)), problems.values(stack, z))


def test_power_iteration_in_jax_finds_the_leading_eigenvector():
    pytest.importorskip("jax")
    stack = problems.coherence_stack(6, 20, "easy", 1)
    found = np.asarray(peers.power_iteration_in_jax(1e-6, 500)(stack))
    exact = np.linalg.eigh(stack.astype(complex))[1][:, :, -1]
    # a change below 1e-6 leaves an angle of about 1e-6 / (1 - rate); the overlap is of second order in it
    assert np.abs(np.sum(found.conj() * exact, axis=1)).min() > 1 - 1e-5
    assert not np.allclose(peers.power_iteration_in_jax(0.0, 1)(stack), found, atol=1e-3)  # the limit is heeded


def test_a_peer_says_whether_it_is_there_missing_or_broken(tmp_path, monkeypatch):
    (tmp_path / "broken_peer.py").write_text("raise RuntimeError('built for another BLAS')")
    monkeypatch.syspath_prepend(str(tmp_path))
    there = peers.Peer("numpy", ("numpy",), "arrays", "pip install numpy")
    absent = peers.Peer("nobody", ("no_such_peer.inner",), "nothing", "pip install nobody")
    broken = peers.Peer("broken", ("broken_peer",), "nothing", "pip install broken")
    assert (there.usable, absent.usable, broken.usable) == (True, False, False)
    assert there.state == np.__version__
    assert absent.state == "missing: pip install nobody"
    assert "built for another BLAS" in broken.state


def test_phase_linking_says_whose_code_it_is(monkeypatch):
    monkeypatch.setattr(peers, "_failure", lambda module: "missing")
    assert peers.phase_linking() is None
    monkeypatch.setattr(peers, "_failure", lambda module: "" if module == "jax" else "missing")
    monkeypatch.setattr(peers, "power_iteration_in_jax", lambda: lambda stack: 2 * stack[:, :, 0])
    name, solve = peers.phase_linking()
    assert name == "dolphin in JAX"
    assert np.abs(solve(np.ones((2, 3, 3), dtype=complex))) == pytest.approx(np.ones((2, 3)))
