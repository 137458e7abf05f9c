"""The laws of the simulated noise. Every bound is 5 standard deviations of the statistic, from its own law:
a correct sampler exceeds one of them with probability 6e-7, and the seeds are fixed."""

import numpy as np
import pytest
from scipy.special import i0e, i1e, ive

from angsync import simulate
from angsync.simulate import graphs

SIGMAS = 5


def upper(problem):
    return problem.noise[np.triu_indices(problem.n, 1)]


def test_wigner_moments():
    sigma, n = 3.0, 400
    w = upper(simulate.gaussian(n, sigma, rng=0)) / sigma
    pairs = w.size
    # |W|^2 is exponential with mean 1 and variance 1.
    assert abs(np.mean(np.abs(w) ** 2) - 1) <= SIGMAS / np.sqrt(pairs)
    # Real and imaginary parts are normal with variance 1/2: their squares have variance 2 (1/2)^2 = 1/2.
    for part in (w.real, w.imag):
        assert abs(part.mean()) <= SIGMAS * np.sqrt(0.5 / pairs)
        assert abs(np.mean(part**2) - 0.5) <= SIGMAS * np.sqrt(0.5 / pairs)
    # They are independent: the product has variance 1/4, and E W^2 = 0.
    assert abs(np.mean(w.real * w.imag)) <= SIGMAS * 0.5 / np.sqrt(pairs)
    # E|W|^4 = 2 for a complex normal; |W|^4 = X^2 with X exponential: variance 4! - 2!^2 = 20.
    assert abs(np.mean(np.abs(w) ** 4) - 2) <= SIGMAS * np.sqrt(20 / pairs)


def test_wigner_entries_of_one_row_are_uncorrelated():
    w = simulate.gaussian(400, 1.0, rng=1).noise
    # Products W[0,l] conj(W[1,l]), l >= 2: independent, mean 0, E|.|^2 = 1; both parts have variance 1/2.
    products = w[0, 2:] * w[1, 2:].conj()
    assert np.abs([products.real.mean(), products.imag.mean()]).max() <= SIGMAS * np.sqrt(0.5 / 398)


def test_wigner_norm():
    # The norm of W is 2 sqrt(n) (1 + o(1)) and moves by O(n^(-1/6)). From below it is at least the largest row
    # norm, about sqrt(n).
    n = 300
    norm = np.linalg.norm(simulate.gaussian(n, 1.0, rng=2).noise, 2)
    assert 0.9 * np.sqrt(n) <= norm <= 3 * np.sqrt(n)


def test_noise_does_not_depend_on_the_truth():
    problem = simulate.gaussian(400, 1.0, rng=3)
    true = np.outer(problem.z, problem.z.conj())[np.triu_indices(400, 1)]
    # Given z the products are complex normal with E|.|^2 = 1.
    mean = np.mean(upper(problem) * true.conj())
    assert np.abs([mean.real, mean.imag]).max() <= SIGMAS * np.sqrt(0.5 / true.size)


def test_truth_is_uniform():
    z = simulate.grid(300, 300, 0.0, rng=4).z
    # E z = E z^2 = 0; both parts of z^k have variance 1/2.
    for power in (1, 2, 3):
        mean = np.mean(z**power)
        assert np.abs([mean.real, mean.imag]).max() <= SIGMAS * np.sqrt(0.5 / z.size)


def resultants(law, sigma):
    """E cos(k noise), k = 1, 2, 4 of the law: exp(-k^2 sigma^2/2), or I_k(kappa)/I_0(kappa)."""
    if law == "wrapped_normal":
        return {k: np.exp(-(k**2) * sigma**2 / 2) for k in (1, 2, 4)}
    kappa = float(simulate.von_mises_concentration(sigma))
    return {k: ive(k, kappa) / ive(0, kappa) for k in (1, 2, 4)}


@pytest.mark.parametrize("law", ["wrapped_normal", "von_mises"])
@pytest.mark.parametrize("sigma", [0.05, 0.5, 1.0, 2.0])
def test_resultants_of_phase_noise(law, sigma):
    noise = simulate.phase_noise(400, sigma, law=law, rng=5).noise
    expected = resultants(law, sigma)
    # The first resultant is exp(-sigma^2/2) for both laws; the second tells them apart.
    assert expected[1] == pytest.approx(np.exp(-(sigma**2) / 2), rel=1e-9)
    for k in (1, 2):
        # Var cos(kx) = (1 + E cos 2kx)/2 - (E cos kx)^2 and Var sin(kx) = (1 - E cos 2kx)/2.
        variance = (1 + expected[2 * k]) / 2 - expected[k] ** 2
        assert abs(np.cos(k * noise).mean() - expected[k]) <= SIGMAS * np.sqrt(variance / noise.size)
        variance = (1 - expected[2 * k]) / 2
        assert abs(np.sin(k * noise).mean()) <= SIGMAS * np.sqrt(variance / noise.size)


def test_the_second_resultants_tell_the_laws_apart():
    # At sigma = 1 they are 0.135 and 0.214. Five standard deviations of the mean of 79,800 cosines are at most
    # 5 sqrt(0.5/79800) = 0.0125.
    seconds = [
        np.cos(2 * simulate.phase_noise(400, 1.0, law=law, rng=6).noise).mean()
        for law in ("wrapped_normal", "von_mises")
    ]
    assert seconds[1] - seconds[0] > 0.04


@pytest.mark.parametrize("sigma", [1e-8, 1e-3, 0.00999, 0.01001, 0.3, 1.0, 2.5, 6.0, 30.0])
def test_concentration_has_the_resultant_of_the_wrapped_normal(sigma):
    kappa = float(simulate.von_mises_concentration(sigma))
    assert i1e(kappa) / i0e(kappa) == pytest.approx(np.exp(-(sigma**2) / 2), rel=1e-12)
    # for small noise the variance is 1/kappa
    if sigma < 0.02:
        assert kappa * sigma**2 == pytest.approx(1 + sigma**2 / 2, rel=1e-7)


def test_concentration_at_the_ends():
    assert simulate.von_mises_concentration(0.0) == np.inf
    assert simulate.von_mises_concentration(np.inf) == 0
    kappa = simulate.von_mises_concentration(np.linspace(0.001, 20, 500))
    assert (np.diff(kappa) < 0).all()


@pytest.mark.parametrize("law", ["wrapped_normal", "von_mises"])
def test_weights_divide_the_variance(law):
    n = 300
    pairs = n * (n - 1) // 2
    weight = np.where(np.arange(pairs) % 2 == 0, 1.0, 25.0)
    weight[:5000] = 0
    noise = simulate.phase_noise(n, 0.1, law=law, weight=weight, rng=7).noise
    for w in (1.0, 25.0):
        angles = noise[weight == w]
        expected = 0.1**2 / w
        # A squared normal has variance 2 s^4. The von Mises variance is s^2 (1 + O(s^2)), s <= 0.1: 1 percent.
        assert abs(np.mean(angles**2) / expected - 1) <= SIGMAS * np.sqrt(2 / angles.size) + 0.01
    # Weight 0 says nothing: uniform, with resultants 0 and variance 1/2 of both parts.
    mean = np.mean(np.exp(1j * noise[:5000]))
    assert np.abs([mean.real, mean.imag]).max() <= SIGMAS * np.sqrt(0.5 / 5000)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_outlier_fraction_and_law(p):
    problem = simulate.outliers(400, p, sigma=0.1, rng=8)
    outlier, noise = problem.outlier, problem.noise
    # A binomial fraction has variance p (1 - p) / N.
    assert abs(outlier.mean() - (1 - p)) <= SIGMAS * np.sqrt(p * (1 - p) / outlier.size)
    # Outliers are uniform: E cos = E sin = 0 with variance 1/2.
    wild = noise[outlier]
    assert abs(np.cos(wild).mean()) <= SIGMAS * np.sqrt(0.5 / wild.size)
    assert abs(np.sin(wild).mean()) <= SIGMAS * np.sqrt(0.5 / wild.size)
    # The others are normal with standard deviation 0.1, untouched by wrapping: the square has variance 2 s^4.
    good = noise[~outlier]
    assert abs(np.mean(good**2) / 0.01 - 1) <= SIGMAS * np.sqrt(2 / good.size)
    # Which edges are outliers does not depend on the place: the mean place is that of N p draws,
    # with variance (N^2/12)/(N (1-p)) at most (without replacement less).
    place = np.flatnonzero(outlier) / outlier.size
    assert abs(place.mean() - 0.5) <= SIGMAS * np.sqrt(1 / 12 / place.size)


@pytest.mark.parametrize("p", [0.003, 0.2, 0.3, 0.8])  # both ways of drawing, on either side of 1/4
def test_edge_probability(p):
    n = 500
    for edges in (
        simulate.erdos_renyi(n, p, 0.0, rng=9).measurements,
        simulate.outliers(n, 0.5, edge_probability=p, rng=10).measurements,
    ):
        pairs = n * (n - 1) // 2
        assert abs(len(edges) - pairs * p) <= SIGMAS * np.sqrt(pairs * p * (1 - p))
        # Every node has Binomial(n - 1, p) edges. By Bernstein, deviations beyond t have a probability of at
        # most 2 exp(-t^2 / (2 v + 2t/3)), v = (n-1) p (1-p); 500 nodes and 1e-7 in all ask for log = 23.
        degree = np.bincount(np.concatenate([edges.i, edges.j]), minlength=n)
        v, log = (n - 1) * p * (1 - p), 23
        t = log / 3 + np.sqrt((log / 3) ** 2 + 2 * v * log)
        assert np.abs(degree - (n - 1) * p).max() <= t


def test_every_set_of_pairs_is_equally_likely():
    # n = 4, p = 1/2: 64 graphs. Pearson's statistic of 6400 draws has 63 degrees of freedom, and
    # P(chi2_63 > 131.4) = 1e-6.
    rng = np.random.default_rng(11)
    counts = np.zeros(64)
    for _ in range(6400):
        i, j = graphs.random_pairs(4, 0.5, rng)
        place = np.array([[0, 0, 1, 2], [0, 0, 3, 4], [0, 0, 0, 5], [0, 0, 0, 0]])[i, j]
        counts[np.sum(1 << place)] += 1
    assert np.sum((counts - 100) ** 2 / 100) <= 131.4


def test_small_draws_of_few_pairs_are_uniform():
    # The rejection branch: n = 40, p = 0.05 (about 39 of 780 pairs), 2000 graphs. Each pair appears
    # Binomial(2000, 0.05) times, variance 95: Bernstein as above, with 780 pairs and 1e-7 in all (log = 23.5).
    rng = np.random.default_rng(12)
    counts = np.zeros((40, 40))
    for _ in range(2000):
        counts[graphs.random_pairs(40, 0.05, rng)] += 1
    v, log = 2000 * 0.05 * 0.95, 23.5
    t = log / 3 + np.sqrt((log / 3) ** 2 + 2 * v * log)
    assert np.abs(counts[np.triu_indices(40, 1)] - 100).max() <= t
