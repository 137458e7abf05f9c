"""Networks of interferograms: truth recovered whatever the constants, what is missing, bad input, the real network."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from angsync.applications import phase_linking
from angsync.applications.phase_linking import LinkStatus
from angsync.errors import AngsyncWarning, ErrorBarWarning, InputError, ShapeError
from angsync.testing import check_application

PAIRS = [(i, j) for i in range(6) for j in range(i + 1, min(6, i + 4))]


def network(noise=0.1, seed=0, shape=(8, 9)):
    """Phases with mean 0 over the image, interferograms with constants, and their coherence."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(0, 0.7, (6, *shape))
    theta -= theta.mean(axis=(1, 2), keepdims=True)
    first, second = np.array(PAIRS).T
    phase = theta[first] - theta[second] + rng.normal(0, noise, (len(PAIRS), *shape))
    phase += rng.uniform(-9, 9, (len(PAIRS), 1, 1))
    return theta - theta[:1], phase, np.full_like(phase, 0.8)


def test_phases_are_found_whatever_the_constants():
    theta, phase, coherence = network(noise=0.0)
    with pytest.warns(ErrorBarWarning, match="residuals of zero"):
        linked = phase_linking.link_network(phase, coherence, PAIRS)
    np.testing.assert_allclose(np.exp(1j * linked.phase), np.exp(1j * theta), atol=1e-7)
    assert linked.certified.all()
    assert linked.weighted_residual < 1e-7
    assert linked.closure < 1e-7


def test_error_bars_are_of_the_size_of_the_errors():
    theta, phase, coherence = network(shape=(40, 40))
    linked = phase_linking.link_network(phase, coherence, PAIRS)
    misfit = np.angle(np.exp(1j * (linked.phase - theta)))[1:]
    hit = np.abs(misfit) <= 1.96 * linked.standard_error[1:]
    # sigma comes from 12 interferograms less 5 phases: Student's t of 7 degrees of freedom is below 1.96 for 90.9 %
    assert hit.mean() == pytest.approx(0.909, abs=0.02)
    check_application(linked)


def test_wrapped_phases_are_referenced_by_their_mean_direction():
    rng = np.random.default_rng(1)
    theta = rng.normal(0, 0.2, (6, 30, 30))  # means of exp(i theta) of 900 pixels err by 0.2 / 30 = 0.007
    theta -= np.angle(np.exp(1j * theta).mean(axis=(1, 2), keepdims=True))
    first, second = np.array(PAIRS).T
    phase = np.angle(np.exp(1j * (theta[first] - theta[second] + rng.uniform(-3, 3, (len(PAIRS), 1, 1)))))
    linked = phase_linking.link_network(phase, np.ones_like(phase), PAIRS)
    assert np.abs(np.angle(np.exp(1j * (linked.phase - theta + theta[:1])))).max() < 0.05
    assert any("mean direction" in note for note in linked.notes)


def test_a_pixel_may_be_the_reference_and_no_reference_takes_phases_as_they_are():
    theta, phase, coherence = network(noise=1e-4)
    linked = phase_linking.link_network(phase, coherence, PAIRS, reference=(2, 3))
    against = theta - theta[:, 2:3, 3:4]
    np.testing.assert_allclose(np.exp(1j * linked.phase), np.exp(1j * (against - against[:1])), atol=2e-3)
    np.testing.assert_array_equal(linked.standard_error[:, 2, 3], 0)
    phase += 0.01 * np.random.default_rng(2).standard_normal(phase.shape)
    linked = phase_linking.link_network(phase, coherence, PAIRS, reference=(2, 3))
    with pytest.warns(ErrorBarWarning, match="1 of 72"):  # the pixel that is 0 everywhere is one like the others now
        plain = phase_linking.link_network(phase - linked.constants[:, None, None], coherence, PAIRS, reference=None)
    np.testing.assert_array_equal(plain.phase, linked.phase)


def test_empty_and_disconnected_pixels_are_told_and_never_certified():
    _, phase, coherence = network()
    phase[:, 0, 0] = np.nan
    coherence[:, 0, 1] = 0
    phase[[k for k, pair in enumerate(PAIRS) if 5 in pair], 1, 1] = np.nan
    linked = phase_linking.link_network(phase, coherence, PAIRS)
    assert linked.status[0, 0] == linked.status[0, 1] == LinkStatus.EMPTY
    assert linked.status[1, 1] == LinkStatus.DISCONNECTED
    assert not linked.certified[[0, 0, 1], [0, 1, 1]].any()
    assert np.isnan(linked.phase[:, 0, :2]).all()
    assert linked.certified.sum() == 69
    assert any("several groups" in note for note in linked.notes)


def test_networks_without_triangles_have_no_closure_phases():
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)]
    rng = np.random.default_rng(4)
    linked = phase_linking.link_network(rng.normal(0, 0.1, (6, 3, 4)), np.full((6, 3, 4), 0.8), ring)
    assert np.isnan(linked.closure)
    assert "no three of them close a triangle" in str(linked)
    assert "nan" not in str(linked)


@pytest.mark.parametrize("what", ["phase", "coherence"])
def test_networks_without_data_are_told(what):
    _, phase, coherence = network()
    empty = {"phase": np.full_like(phase, np.nan)} if what == "phase" else {"coherence": np.zeros_like(coherence)}
    linked = phase_linking.link_network(**{"phase": phase, "coherence": coherence, "pairs": PAIRS, **empty})
    assert "no pixel holds data" in str(linked)
    assert "nan" not in str(linked)
    assert not linked.certified.any()


def test_pairs_may_be_names():
    _, phase, coherence = network()
    names = [f"2020{k + 1:02d}01" for k in range(6)]
    by_name = phase_linking.link_network(phase, coherence, [(names[i], names[j]) for i, j in PAIRS])
    assert by_name.dates == tuple(names)
    by_number = phase_linking.link_network(phase, coherence, PAIRS, dates=names)
    np.testing.assert_array_equal(by_name.phase, by_number.phase)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"phase": np.ones((3, 4))}, "interferograms"),
        ({"phase": np.ones((12, 8, 9), complex)}, "must be real"),
        ({"coherence": np.ones((12, 8, 8))}, "shape of phase"),
        ({"coherence": np.full((12, 8, 9), 80.0)}, "divide by 100"),
        ({"pairs": PAIRS[1:]}, "two dates an interferogram"),
        ({"pairs": [(0, 0), *PAIRS[1:]]}, "with itself"),
        ({"pairs": [(0, -1), *PAIRS[1:]]}, "from 0"),
        ({"reference": "median"}, "reference must be"),
        ({"reference": (99, 0)}, "reference must be"),
        ({"gauge": 6}, "gauge must be the number of a date"),
    ],
)
def test_bad_input_gets_one_message(change, words):
    _, phase, coherence = network()
    with pytest.raises((InputError, ShapeError), match=words):
        phase_linking.link_network(**({"phase": phase, "coherence": coherence, "pairs": PAIRS} | change))


def test_a_reference_pixel_without_data_is_refused_and_other_units_are_suspected():
    _, phase, coherence = network()
    hole = phase.copy()
    hole[3, 2, 2] = np.nan
    with pytest.raises(InputError, match="no data in interferogram 3"):
        phase_linking.link_network(hole, coherence, PAIRS, reference=(2, 2))
    with pytest.warns(AngsyncWarning, match="another unit"), pytest.warns(ErrorBarWarning, match="noise is large"):
        phase_linking.link_network(phase * 200, coherence, PAIRS)


@pytest.mark.shared_data
def test_the_real_network():
    folder = Path(os.environ.get("ANGSYNC_DATA", "../shared/data"))
    if not (folder / "insar" / "cropA_network.npz").exists():
        pytest.skip("the shared data sets are not there")
    told = pytest.warns(ErrorBarWarning, match="1622 of 6000 problems: the noise is large")
    with np.load(folder / "insar" / "cropA_network.npz") as data, told:
        linked = phase_linking.link_network(data["phase"], data["coherence"], data["edges"])
    assert linked.weighted_residual == pytest.approx(0.2413, abs=0.0002)
    assert linked.closure == pytest.approx(0.520, abs=0.002)
    assert not linked.certified[np.asarray(linked.status) == LinkStatus.EMPTY].any()
