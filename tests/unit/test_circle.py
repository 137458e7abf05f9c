"""Geometry of T^n: wrap, normalize, align and the distances d_q, against brute force."""

import numpy as np
import pytest

import angsync as ang
from angsync.circle import _bound, _cost, align, as_phases, distance, distance_and_angle, normalize, wrap
from angsync.errors import InputError, NotFiniteError, ShapeError

EXPONENTS = [1, 1.3, 1.5, 2, 3, 7.5, 50, np.inf]


def norm_at(w, z, theta, q):
    return np.linalg.norm(w - np.exp(1j * theta) * z, q)


def brute_force(w, z, q):
    """A dense grid and every kink (minimizers for q near 1 are cusps), then finer around the best ones."""
    candidates = np.concatenate([np.linspace(-np.pi, np.pi, 721), np.angle(w * np.conj(z))])
    step = 2 * np.pi / 720
    for _ in range(9):
        values = np.array([norm_at(w, z, t, q) for t in candidates])
        best = candidates[np.argsort(values)[:3]]
        step /= 5
        candidates = np.concatenate([best, *(t + step * np.arange(-10, 11) for t in best)])
    return min(norm_at(w, z, t, q) for t in candidates)


def phases(angles):
    return np.exp(1j * np.asarray(angles, dtype=float))


def clustered(rng):
    return phases(rng.normal(0, 0.4, 9)), phases(rng.normal(1, 0.4, 9))


CONFIGURATIONS = {
    "random": phases(np.random.default_rng(1).uniform(-np.pi, np.pi, 12)),
    "clustered": phases(np.random.default_rng(2).normal(2.0, 0.3, 15)),
    "two antipodal": phases([0.3, 0.3 + np.pi]),
    "antipodal, unequal": phases([0, 0, 0, np.pi, np.pi]),
    "three uniform": phases(2 * np.pi * np.arange(3) / 3),
    "eight uniform": phases(2 * np.pi * np.arange(8) / 8 + 0.1),
    "symmetric tie": phases([-1, 1, -1, 1, np.pi]),
    "one outlier": phases([0.01, -0.02, 0.005, 3.0]),
    "across the cut": phases([3.1, -3.1, 3.0, -3.05]),
    "one node": phases([1.234]),
}


@pytest.mark.parametrize("q", EXPONENTS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_distance_is_the_global_minimum(name, q):
    w = CONFIGURATIONS[name]
    z = phases(np.random.default_rng(3).uniform(-np.pi, np.pi, w.size))
    found = distance(w * z, z, q)
    best = brute_force(w * z, z, q)
    # The brute force is an upper bound of the minimum, and its last step is 2 pi / 720 / 5^9 = 5e-9.
    assert found <= best * (1 + 1e-10) + 1e-14
    # Refinement from a cusp misses by at most the step times the Lipschitz constant n of the norm.
    assert found >= best - 1e-8 * w.size


@pytest.mark.parametrize("q", EXPONENTS)
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_angle_attains_the_distance(name, q):
    z = CONFIGURATIONS[name]
    w = phases(np.random.default_rng(4).uniform(-np.pi, np.pi, z.size))
    found, theta = distance_and_angle(w, z, q)
    assert -np.pi < theta <= np.pi
    # theta is rounded to 2^-52 and every entry is 1-Lipschitz in it.
    assert norm_at(w, z, theta, q) == pytest.approx(found, rel=1e-13, abs=1e-14 * z.size)


@pytest.mark.parametrize("q", EXPONENTS)
def test_near_equal_vectors_keep_their_digits(q):
    """The closed form sqrt(2 (n - |w^H z|)) would be wrong by a factor here: 1 - 1e-18 is 1."""
    rng = np.random.default_rng(5)
    difference = 1e-9 * np.concatenate([rng.uniform(-1, 1, 40), [2.0]])
    truth = rng.uniform(-np.pi, np.pi, 41)
    z = phases(truth)
    w = z * phases(difference) * np.exp(2j)
    # To first order the entries are |difference - shift|: the minimum is that of a real q-norm, which is convex,
    # here by a ternary search.
    low, high = -3e-9, 3e-9
    for _ in range(200):
        a, b = low + (high - low) / 3, high - (high - low) / 3
        if np.linalg.norm((difference - a) * 1e9, q) < np.linalg.norm((difference - b) * 1e9, q):
            high = b
        else:
            low = a
    expected = np.linalg.norm((difference - low) * 1e9, q) * 1e-9
    # Every entry of w and z is rounded by about 2e-16, relative to differences of 1e-9.
    assert distance(w, z, q) == pytest.approx(expected, rel=2e-6)


@pytest.mark.parametrize("q", EXPONENTS)
def test_equal_up_to_a_phase_is_distance_zero(q):
    z = phases(np.random.default_rng(6).uniform(-np.pi, np.pi, 30))
    assert distance(z, z, q) <= 1e-14
    assert distance(z * np.exp(2.5j), z, q) <= 30 * 1e-15


@pytest.mark.parametrize("q", EXPONENTS)
def test_one_node_is_always_at_distance_zero(q):
    found, theta = distance_and_angle([1j], [-1], q)
    assert found <= 1e-15
    assert theta == pytest.approx(-np.pi / 2)


def test_closed_forms_of_two_antipodal_entries():
    # The entries are 2 |sin(t/2)| and 2 |cos(t/2)|: for q < 2 a kink is best (2), for q = 2 all angles are (2), for
    # q > 2 the middle is (2^(1/2 + 1/q)).
    w, z = [1, -1], [1, 1]
    assert distance(w, z, 1) == pytest.approx(2)
    assert distance(w, z, 1.5) == pytest.approx(2)
    assert distance(w, z, 2) == pytest.approx(2)
    assert distance(w, z, 4) == pytest.approx(2**0.75)
    assert distance(w, z, np.inf) == pytest.approx(np.sqrt(2))


def test_uniform_spread_with_a_constant_cost_ends():
    # sum_j sin^4((t - 2 pi j/n)/2) = 3n/8 for n >= 3: every angle is optimal and no interval is better.
    w = phases(2 * np.pi * np.arange(6) / 6)
    assert distance(w, np.ones(6), 4) == pytest.approx(2 * (6 * 3 / 8) ** 0.25, rel=1e-12)


@pytest.mark.parametrize("q", [1.1, 1.5, 3, 7.5])
@pytest.mark.parametrize("half", [0.02, 0.2])
def test_the_bounds_of_the_search_hold(q, half):
    """No interval that is dropped holds an angle below the level, and where 'convex' is said the cost is convex."""
    rng = np.random.default_rng(10)
    dropped = convex_ones = 0
    for _ in range(20):
        phi = rng.uniform(-np.pi, np.pi, 5)
        centers = rng.uniform(-np.pi, np.pi, 20)
        level = _cost(phi, float(centers[0]), q) * 0.999
        _, keep, convex = _bound(phi, centers, half, q, level)
        for center, kept, is_convex in zip(centers, keep, convex, strict=True):
            inside = [_cost(phi, t, q) for t in np.linspace(center - half, center + half, 41)]
            if not kept:
                dropped += 1
                assert min(inside) >= level * (1 - 1e-9)
            if is_convex:
                convex_ones += 1
                bend = np.diff(np.array(inside) ** q, 2)
                assert bend.min() >= -1e-13 * max(inside) ** q
    assert dropped > 50
    assert convex_ones > 5 or (q, half) == (1.1, 0.2)


def test_very_large_q_approaches_the_maximum_norm():
    w, z = clustered(np.random.default_rng(7))
    largest = distance(w, z, np.inf)
    # ||x||_inf <= ||x||_q <= n^(1/q) ||x||_inf
    assert largest * (1 - 1e-9) <= distance(w, z, 1e5) <= largest * 9 ** (1e-5) * (1 + 1e-9)
    assert distance(w, z, 1e13) == pytest.approx(largest, rel=1e-9)


def test_q_just_above_one_approaches_the_sum():
    w, z = clustered(np.random.default_rng(8))
    assert distance(w, z, 1 + 1e-9) == pytest.approx(distance(w, z, 1), rel=1e-7)


def test_empty_vectors():
    assert distance_and_angle([], [], 1.5) == (0.0, 0.0)


def test_align_brings_the_overlap_to_the_positive_real_line():
    rng = np.random.default_rng(9)
    z = phases(rng.uniform(-np.pi, np.pi, 20))
    w = z * phases(rng.normal(0, 0.3, 20)) * np.exp(1.7j)
    aligned = align(w, z)
    overlap = np.vdot(aligned, z)
    assert abs(overlap.imag) <= 1e-13
    assert overlap.real > 0
    assert np.linalg.norm(aligned - z) == pytest.approx(distance(w, z), rel=1e-12)


def test_align_without_a_best_phase_returns_a_copy():
    w = np.array([1, -1], dtype=complex)
    aligned = align(w, [1, 1])
    np.testing.assert_array_equal(aligned, w)
    assert aligned is not w


@pytest.mark.parametrize(
    ("angle", "expected"),
    [(0, 0), (np.pi, np.pi), (-np.pi, np.pi), (3 * np.pi, np.pi), (-3 * np.pi, np.pi), (1e-9, 1e-9),
     (-1e-300, -1e-300), (2 * np.pi, 0), (np.nextafter(-np.pi, 0), np.nextafter(-np.pi, 0)),
     (np.pi + 0.5, -np.pi + 0.5), (-np.pi - 0.5, np.pi - 0.5)],
)  # fmt: skip
def test_wrap_edge_cases(angle, expected):
    # small angles keep their relative accuracy
    absolute = 0 if 0 < abs(expected) < 1 else 1e-15
    assert wrap(angle) == pytest.approx(expected, rel=1e-15, abs=absolute)


@pytest.mark.parametrize("angle", [1e5, -1e10, 1e22, 1e300, -1e300])
def test_wrap_of_huge_angles_agrees_with_the_exponential(angle):
    assert -np.pi < wrap(angle) <= np.pi
    assert abs(np.exp(1j * wrap(angle)) - np.exp(1j * angle)) <= 1e-15


def test_wrap_keeps_the_shape():
    assert wrap(np.zeros((2, 3))).shape == (2, 3)
    assert wrap([]).shape == (0,)
    assert wrap(7).shape == ()


def test_normalize_keeps_the_fallback_at_zero():
    w = np.array([3 + 4j, 0, -2])
    np.testing.assert_allclose(normalize(w, np.array([1, 1j, 1])), [0.6 + 0.8j, 1j, -1], rtol=1e-15)


def test_as_phases_scales_to_unit_modulus_at_any_size():
    z = as_phases([2j, 1e-310, 1e308 * (1 + 1j), -5e-324])
    np.testing.assert_allclose(z, [1j, 1, np.sqrt(0.5) * (1 + 1j), -1], rtol=1e-15)


@pytest.mark.parametrize(
    ("given", "expected"),
    [(np.float32, np.complex64), (np.complex64, np.complex64), (float, np.complex128), (int, np.complex128)],
)
def test_as_phases_keeps_the_precision(given, expected):
    assert as_phases(np.ones(3, dtype=given)).dtype == expected


@pytest.mark.parametrize(
    ("z", "error", "message"),
    [([[1, 1]], ShapeError, r"truth must be a vector of length 2, but its shape is \(1, 2\)"),
     ([1, 1, 1], ShapeError, r"truth must be a vector of length 2, but its shape is \(3,\)"),
     ([1, np.nan], NotFiniteError, r"truth\[1\] is .*nan.*: phases must be finite"),
     ([0, 1], InputError, r"truth\[0\] is 0, which has no phase"),
     (["a", "b"], InputError, "truth must be numeric, but its dtype is")],
)  # fmt: skip
def test_as_phases_says_what_is_wrong(z, error, message):
    with pytest.raises(error, match=message):
        as_phases(z, 2, "truth")


@pytest.mark.parametrize("q", [0.5, 0, -1, np.nan])
def test_q_below_one_is_refused(q):
    with pytest.raises(InputError, match=r"q must be in \[1, inf\], but it is"):
        distance([1], [1], q)


def test_distance_refuses_vectors_that_do_not_fit():
    with pytest.raises(ShapeError, match=r"same length, but they are \(2,\) and \(3,\)"):
        distance([1, 1], [1, 1, 1])
    with pytest.raises(NotFiniteError, match=r"z\[1\] is .*inf"):
        distance([1, 1], [1, np.inf])
    with pytest.raises(InputError, match=r"\|w\[1\]\| is 2: the distance for q = 1 takes unit-modulus"):
        distance([1, 2], [1, 1], 1)
    assert distance([1, 2], [1, 1], 2) == pytest.approx(1)


def test_masked_phases_are_refused_wherever_they_go():
    C, z = np.ones((3, 3)), np.ma.masked_array(np.ones(3, dtype=complex), mask=[False, True, False])
    for call in (
        lambda: as_phases(z),
        lambda: ang.certify(C, z),
        lambda: ang.synchronize(C, start=z),
        lambda: ang.synchronize(C, start=z, anchors={0: 0.0}),
    ):
        with pytest.raises(InputError, match=r"\[1\] is masked, but phases must not be masked"):
            call()
    z.mask = False
    assert ang.certify(C, z).verdict is ang.Verdict.CERTIFIED


def test_the_precision_of_phases_does_not_depend_on_the_order_of_their_bytes():
    assert as_phases(np.ones(3, dtype=">c8")).dtype == np.complex64
