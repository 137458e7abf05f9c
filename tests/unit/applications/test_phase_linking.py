"""``phase_linking.link`` and ``link_covariance``: truth recovered, bad pixels told, chunks, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from angsync.applications import phase_linking
from angsync.applications.phase_linking import LinkStatus
from angsync.errors import AngsyncWarning, InputError, ShapeError
from angsync.testing import check_application


def stack(n=8, shape=(20, 23), **how):
    how = {"gamma_inf": 0.6, "rate": 0.005} | how
    return phase_linking.simulate(n, shape, **how)


def test_phases_of_a_simulated_stack_are_found_with_error_bars_that_hold():
    # even pixels of one row of windows share looks: independent windows are 7 pixels apart
    truth = stack(10, (70, 70), rng=4, rate=0.0005)
    linked = phase_linking.link(truth.slc, window=(7, 7))
    inner = (slice(None), slice(3, None, 7), slice(3, None, 7))
    misfit = np.angle(np.exp(1j * (linked.phase - truth.phase)))[inner][1:]
    hit = np.abs(misfit) <= 1.96 * linked.standard_error[inner][1:]
    assert 0.9 < hit.mean() < 0.99  # 100 windows, nine dates that are far from independent
    assert linked.certified.all()
    assert (linked.status == LinkStatus.CONVERGED).all()
    np.testing.assert_array_equal(linked.phase[0], 0)
    np.testing.assert_array_equal(linked.standard_error[0], 0)
    assert linked.looks.max() == 49
    assert linked.looks[0, 0] == 16


@pytest.mark.parametrize("method", phase_linking.METHODS)
def test_the_result_is_one_of_an_application(method):
    linked = phase_linking.link(stack().slc, (5, 5), method)
    check_application(linked)
    assert linked.is_proved is (method == "mle")
    assert linked.certified.all() == (method == "mle")


@pytest.mark.parametrize("chunk", [5, 16, 512])
def test_the_bits_do_not_depend_on_chunks(chunk):
    slc = stack(6, (33, 41)).slc
    slc[2, 5, 7], slc[:, 20:24, 3:9] = np.nan, 0
    mask = np.zeros((33, 41), dtype=bool)
    mask[10:12] = True
    whole = phase_linking.link(slc, (5, 7), mask=mask, chunk=1000)
    parts = phase_linking.link(slc, (5, 7), mask=mask, chunk=chunk)
    for name in ("phase", "standard_error", "temporal_coherence", "certified", "status", "looks"):
        np.testing.assert_array_equal(vars(parts)[name], vars(whole)[name], err_msg=name)
    np.testing.assert_array_equal(parts.sync.gap_bound, whole.sync.gap_bound)


def test_empty_masked_and_constant_pixels_are_told_and_never_certified():
    slc = stack().slc
    slc[:, 0:3], slc[:, 5, 5] = np.nan, 0
    slc[:, 8, 8] = 3 - 1j
    mask = np.zeros(slc.shape[1:], dtype=bool)
    mask[12, 4] = True
    linked = phase_linking.link(slc, (5, 5), mask=mask)
    for place, name in (((1, 1), "EMPTY"), ((5, 5), "EMPTY"), ((12, 4), "EMPTY"), ((8, 8), "CONSTANT")):
        assert LinkStatus(int(linked.status[place])).name == name
        assert not linked.certified[place]
        assert np.isnan(linked.phase[:, place[0], place[1]]).all()
        assert np.isnan(linked.standard_error[:, place[0], place[1]]).all()
    assert linked.counts["EMPTY"] == 3 * 23 + 2
    assert linked.looks[8, 9] == 24  # the fill value is no look
    assert linked.looks[12, 5] == 24
    assert any("same number at every date" in note for note in linked.notes)
    assert linked.is_proved  # of the pixels that have phases


def test_a_stack_without_data_says_so():
    with pytest.warns(AngsyncWarning, match="no pixel holds data"):
        linked = phase_linking.link(np.zeros((4, 3, 3), dtype=np.complex64), 3)
    assert not linked.is_proved
    assert not linked.certified.any()


def test_a_missing_date_is_nan_and_the_others_are_linked():
    slc = stack().slc
    slc[3] = np.nan
    linked = phase_linking.link(slc, (5, 5))
    assert np.isnan(linked.phase[3]).all()
    assert np.isfinite(np.delete(linked.phase, 3, axis=0)).all()
    assert linked.certified.all()
    without = phase_linking.link(slc, (5, 5), reference=3)
    assert (without.status == LinkStatus.NO_REFERENCE).all()
    assert any("no data, or only noise, at the reference date" in note for note in without.notes)


def test_fewer_looks_than_dates_are_said():
    slc = stack(12, (9, 9)).slc
    with pytest.warns(AngsyncWarning, match=r"fewer looks than dates .* beta was raised up to 0.5"):
        raised = phase_linking.link(slc, (3, 3))
    assert raised.certified.all()
    with pytest.warns(AngsyncWarning, match="not to be believed"):
        literal = phase_linking.link(slc, (3, 3), beta=0.0)
    assert (literal.status == LinkStatus.FEW_LOOKS).all()
    assert not literal.certified.any()


def test_exact_phases_are_found_and_what_cannot_be_inverted_is_told():
    theta = np.linspace(0, 2, 6)[:, None, None] * np.ones((6, 8, 8))
    slc = np.exp(1j * theta) * (1 + np.random.default_rng(0).random((8, 8)))
    linked = phase_linking.link(slc, 5, looks=25)
    np.testing.assert_allclose(linked.phase, theta, atol=1e-7)
    assert linked.certified.all()
    singular = phase_linking.link(slc, 5, beta=0.0, looks=25)
    assert (singular.status == LinkStatus.NOT_FINITE).all()
    assert any("cannot be inverted" in note for note in singular.notes)


def test_single_precision_is_as_certain_as_double():
    slc = stack(3, (40, 40)).slc
    assert slc.dtype == np.complex64
    linked = phase_linking.link(slc, 5)
    assert linked.certified.all()
    assert linked.phase.dtype == np.float32


def test_looks_that_are_given_widen_the_error_bars():
    slc = stack().slc
    every = phase_linking.link(slc, (7, 7), beta=0.5)
    few = phase_linking.link(slc, (7, 7), beta=0.5, looks=24.5)
    # the square root of two, and more: of fewer looks, less of the sample coherence is believed
    assert 1.3 < np.median(few.standard_error[1:] / every.standard_error[1:]) < 2
    assert few.looks.max() == 24.5


def test_dates_have_names_and_the_reference_is_one_of_them():
    days = np.datetime64("2020-01-06") + 12 * np.arange(8)
    slc = stack().slc
    for name in ("20200130", "2020-01-30", 20200130, np.datetime64("2020-01-30")):
        linked = phase_linking.link(slc, 5, reference=name, dates=days)
        assert linked.reference == 2
        np.testing.assert_array_equal(linked.phase[2], 0)
    with pytest.raises(InputError, match="no date '20200131' for the reference"):
        phase_linking.link(slc, 5, reference="20200131", dates=days)
    with pytest.raises(InputError, match="in order, each once, but 20200118 comes after 20200130"):
        phase_linking.link(slc, 5, dates=days[[0, 2, 1, 3, 4, 5, 6, 7]])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stack": np.ones((4, 5, 5))}, "must be complex"),
        ({"stack": np.ones((5, 5), complex)}, r"images \(dates, rows, columns\)"),
        ({"stack": np.ones((1, 5, 5), complex)}, "two dates or more"),
        ({"stack": np.ones((3, 0, 5), complex)}, "the images are empty"),
        ({"window": (0, 5)}, "window must be made of positive whole numbers"),
        ({"window": (3, 3, 3)}, "a number of rows and one of columns"),
        ({"mask": np.zeros((2, 2), bool)}, "mask must have the shape of an image"),
        ({"mask": np.zeros((20, 23))}, "mask must be boolean"),
        ({"looks": 0}, "looks must be a positive number"),
        ({"chunk": 0}, "chunk must be made of positive whole numbers"),
        ({"reference": 99}, "no date '99'"),
        ({"dates": ["a", "b"]}, "one name for each of the 8 dates"),
        ({"method": "shp"}, "method must be one of"),
    ],
)
def test_bad_input_gets_one_message(change, words):
    given = {"stack": stack().slc} | change
    with pytest.raises(InputError, match=words):
        phase_linking.link(**given)


def test_covariances_have_the_fields_of_images():
    truth = stack(6, (30, 30), rate=0.0)
    samples = truth.slc.reshape(6, 9, 100)
    C = np.einsum("jpk,lpk->pjl", samples, samples.conj()).reshape(3, 3, 6, 6) / 100
    linked = phase_linking.link_covariance(7 * C, looks=100)
    assert linked.phase.shape == linked.standard_error.shape == (3, 3, 6)
    assert linked.certified.shape == linked.temporal_coherence.shape == linked.status.shape == (3, 3)
    assert linked.certified.all()
    assert np.abs(linked.phase).max() < 4.5 * np.nanmax(linked.standard_error)
    one = phase_linking.link_covariance(C[1, 2], looks=100)
    np.testing.assert_allclose(one.phase, linked.phase[1, 2], atol=1e-6)
    assert one.certified.shape == ()
    check_application(linked)


def test_covariances_that_are_none_are_refused_or_told():
    C = np.broadcast_to(np.eye(4) + 0.5, (3, 4, 4)).astype(complex)
    with pytest.raises(InputError, match="above 1"):
        phase_linking.link_covariance(C - 1.2 * np.eye(4), looks=9)
    with pytest.raises(InputError, match="Hermitian"):
        phase_linking.link_covariance(C + 0.05j, looks=9)
    late = C.copy()
    late[2, 1, 3] += 0.3j
    for method in phase_linking.METHODS:
        with pytest.raises(InputError, match="Hermitian"):
            phase_linking.link_covariance(late, looks=9, method=method)
    with pytest.raises(InputError, match="negative numbers on the diagonal"):
        phase_linking.link_covariance(-C, looks=9)
    with pytest.raises(InputError, match="looks must be positive"):
        phase_linking.link_covariance(C, looks=0)
    with pytest.raises(ShapeError, match="two dates or more"):
        phase_linking.link_covariance(np.ones((3, 1, 1)), looks=9)
    with pytest.raises(ShapeError, match="does not broadcast"):
        phase_linking.link_covariance(C, looks=np.ones(2))
    broken = C.copy()
    broken[1, 0, 2] = np.nan
    linked = phase_linking.link_covariance(broken, looks=50)
    assert [LinkStatus(int(code)).name for code in linked.status] == ["CONVERGED", "EMPTY", "CONVERGED"]
    assert not linked.certified[1]


def test_ctrl_c_keeps_what_is_done(monkeypatch):
    from angsync.applications.phase_linking import tiles

    real, calls = tiles.estimate, []

    def twice(*given):
        calls.append(1)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return real(*given)

    monkeypatch.setattr(tiles, "estimate", twice)
    with pytest.warns(AngsyncWarning, match="interrupted"):
        linked = phase_linking.link(stack().slc, 5, chunk=10)
    assert linked.is_interrupted
    assert np.isfinite(linked.phase[:, :10, :20]).all()
    assert np.isnan(linked.phase[:, 10:]).all()
    assert (linked.status[10:] == LinkStatus.INTERRUPTED).all()
    assert not linked.certified[10:].any()


def test_simulated_stacks_have_the_coherence_that_is_asked_for():
    truth = phase_linking.simulate(5, (200, 200), model="event", rng=3, dtype=np.complex128)
    flat = (truth.slc * np.exp(-1j * truth.phase)).reshape(5, -1)
    S = flat @ flat.conj().T / flat.shape[1]
    # the sample coherence of 40,000 looks errs by at most 1 / sqrt(40000) = 0.005, one in a thousand by 3.3 times that
    assert np.abs(S - truth.coherence).max() < 0.02
    with pytest.raises(InputError, match="model must be one of"):
        phase_linking.coherence_of(5, model="war")
    with pytest.raises(InputError, match="positive semidefinite"):
        phase_linking.simulate(2, (3, 3), coherence=[[1, 2], [2, 1]])


def test_nothing_is_warned_about_without_reason():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        phase_linking.link(stack().slc, 5)
    assert told == []


def with_noise(date, seed=0):
    """15 dates of coherence 0.4 to 0.9, one of which is replaced by noise."""
    slc = phase_linking.simulate(15, (44, 44), rng=seed, rate=0.0, gamma_0=0.9, gamma_inf=0.4).slc.copy()
    rng = np.random.default_rng(seed)
    slc[date] = (rng.standard_normal(slc[date].shape) + 1j * rng.standard_normal(slc[date].shape)) / np.sqrt(2)
    return slc


def test_link_a_date_of_noise_is_nan_and_told():
    """One in a hundred passes by chance; 36 windows share no looks: six or more have a probability of 4e-6."""
    linked = phase_linking.link(with_noise(3), window=(7, 7))
    apart = linked.phase[:, 4:-4:7, 4:-4:7]
    assert np.isfinite(apart[3]).sum() < 6
    assert np.isfinite(np.delete(linked.phase, 3, axis=0)).all()
    np.testing.assert_array_equal(np.isnan(linked.standard_error), np.isnan(linked.phase))
    assert "Most of them are of date 3" in " ".join(linked.notes)


def test_link_a_reference_of_noise_has_no_phases():
    linked = phase_linking.link(with_noise(0), window=(7, 7))
    assert np.isnan(linked.phase[:, linked.status == phase_linking.LinkStatus.NO_REFERENCE]).all()
    assert linked.counts["NO_REFERENCE"] > 0.9 * linked.pixels
    assert "only noise, at the reference date" in " ".join(linked.notes)
    assert not linked.certified[linked.status == phase_linking.LinkStatus.NO_REFERENCE].any()


def test_link_ordinary_coherence_loses_no_dates():
    slc = phase_linking.simulate(15, (44, 44), rng=2, gamma_0=0.6, gamma_inf=0.3).slc
    linked = phase_linking.link(slc, window=(11, 11))
    assert np.isfinite(linked.phase).all()


@pytest.mark.parametrize(("nu", "told"), [(np.inf, False), (5.0, True), (1.0, True)])
def test_link_texture_of_intensities_is_told(nu, told):
    """K-distributed clutter: a gamma factor of variance 1 / nu that all dates of a pixel share."""
    slc = phase_linking.simulate(10, (42, 42), rng=4, rate=0.0).slc
    factor = 1.0 if nu == np.inf else np.random.default_rng(4).gamma(nu, 1 / nu, (42, 42))
    notes = " ".join(phase_linking.link(slc * np.sqrt(factor), window=(7, 7)).notes)
    assert ("vary more within windows" in notes) is told
