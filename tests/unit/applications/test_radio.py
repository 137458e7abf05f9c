"""Self-calibration: phases against the truth, references, slots that are apart or empty, doubts."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from angsync.applications import radio
from angsync.errors import InputError, OrientationWarning, UnitWarning
from angsync.testing import check_application

COVERED = 1.959963984540054


def wrapped(degrees):
    return (degrees + 180) % 360 - 180


def errors_of(gains, night):
    """Phases less the truth, both against the reference of each phase, where there is an error bar."""
    assert (gains.station, gains.phase.shape) == (night.station, night.phase.shape)
    place = {name: k for k, name in enumerate(night.station)}
    slot, station = np.nonzero(gains.standard_error > 0)
    reference = np.array([place[name] for name in gains.reference[slot, station]])
    truth = night.phase[slot, station] - night.phase[slot, reference]
    return wrapped(gains.phase[slot, station] - truth), gains.standard_error[slot, station]


def test_phases_are_those_of_the_truth():
    night = radio.simulate(slots=20, noise=1e-8, rng=0)
    gains = radio.selfcal(night.table, night.model, "S2")
    off, _ = errors_of(gains, night)
    assert off.size > 50
    assert np.abs(off).max() < 1e-3
    assert gains.certified.all()
    assert gains.is_proved
    assert np.allclose(np.abs(gains.gain[~np.isnan(gains.phase)]), 1)
    assert np.isnan(gains.phase).any()  # stations that do not see the source


def test_error_bars_hold():
    """95 % intervals hold the truth; 20 nights of 60 slots, about 6000 phases, of which those of a slot share the noise
    of its reference. With 1200 independent slots and four phases each, strongly dependent, the standard deviation of
    the share is below sqrt(.95 * .05 / 1200) = 0.6 %; the bounds are three of them away."""
    inside = []
    for seed in range(20):
        night = radio.simulate(slots=60, rng=seed)
        off, error = errors_of(radio.selfcal(night.table, night.model), night)
        inside.append(np.abs(off) < COVERED * error)
    assert 0.93 < np.concatenate(inside).mean() < 0.97


def test_noise_alone_gives_the_chi_square_that_is_told():
    night = radio.simulate(slots=200, noise=0.1, rng=3)  # a good part below three times the noise
    gains = radio.selfcal(night.table, night.model)
    assert gains.chi_square_expected > 1.15
    # about 2000 degrees of freedom: a standard deviation of sqrt(2 / 2000) = 3 %, more for weak ones
    assert gains.chi_square_per_dof == pytest.approx(gains.chi_square_expected, rel=0.1)
    assert "does not explain" not in str(gains)


def test_another_source_is_said_not_to_explain_the_data():
    night = radio.simulate(slots=20, rng=4)
    gains = radio.selfcal(night.table, radio.point())
    assert gains.chi_square_per_dof > 10 * gains.chi_square_expected
    assert "The model does not explain the visibilities" in str(gains)
    assert gains.certified.all()  # the phases fit best, badly


def test_a_row_may_name_its_stations_in_either_order():
    night = radio.simulate(slots=5, rng=5)
    turned = dict(night.table)
    turned["T1"], turned["T2"] = night.table["T2"], night.table["T1"]
    for name in ("U(lambda)", "V(lambda)", "Iphase(d)"):
        turned[name] = -night.table[name]
    one, other = (radio.selfcal(table, night.model) for table in (night.table, turned))
    assert np.nanmax(np.abs(wrapped(one.phase - other.phase))) < 1e-9


def test_references():
    night = radio.simulate(slots=40, hours=12, rng=6)
    data = radio.read(night.table)
    gains = radio.selfcal(data, night.model)
    count = (~np.isnan(gains.phase)).sum(axis=0)
    assert {gains.station[int(np.argmax(count))]} <= {*gains.reference.ravel()}
    rare = gains.station[int(np.argmin(count))]
    other = radio.selfcal(data, night.model, rare)
    assert len({*other.reference.ravel()} - {""}) > 1  # where it is absent, another
    here = (other.reference == rare).any(axis=1)
    assert np.allclose(other.phase[here, gains.station.index(rare)], 0)
    assert np.allclose(other.standard_error[here, gains.station.index(rare)], 0)
    mean = radio.selfcal(data, night.model, "mean")
    assert {*mean.reference.ravel()} <= {"mean", ""}
    assert np.nanmax(mean.standard_error) < np.nanmax(gains.standard_error)
    with pytest.raises(InputError, match="no station 'XX' for the reference; there are 'S1'"):
        radio.selfcal(data, night.model, "XX")


def slots_apart():
    """One time with two separate pairs, one with nothing that can be used, one as it should be."""
    return {
        "time": [1, 1, 2, 2, 3, 3, 3], "T1": list("acababa"), "T2": list("bdbcbcc"), "u": [1e9] * 7, "v": [0.0] * 7,
        "amplitude": [1, 1, 0, np.nan, 1, 1, 1], "phase": [10, 20, 30, 40, 50, 60, 110], "sigma": [0.01] * 7,
    }  # fmt: skip


def test_slots_in_pieces_and_empty_ones_are_flagged():
    gains = radio.selfcal(slots_apart(), radio.point(), "a")
    assert gains.status.tolist() == ["DISCONNECTED", "EMPTY", "CONVERGED"]
    assert gains.certified.tolist() == [False, False, True]
    assert gains.reference[0].tolist() == ["a", "a", "c", "c"]
    assert gains.reference[1].tolist() == ["", "", "", ""]
    assert np.isnan(gains.phase[1]).all()
    assert np.isnan(gains.phase[2, 3])
    assert gains.phase[0].tolist() == pytest.approx([0, -10, 0, -20])
    assert gains.degrees_of_freedom.tolist() == [0, 0, 1]
    text = str(gains)
    for words in ("1 times are in several pieces", "1 times hold nothing", "2 visibilities are not used"):
        assert words in text
    assert not gains.is_proved
    check_application(gains)
    assert len(gains.describe().columns["time"]) == 4 + 3 + 3  # stations of flagged rows are listed too


def test_one_visibility_a_time_is_said_to_be_no_check():
    night = radio.simulate(stations=2, slots=10, hours=0.5, rng=0)
    gains = radio.selfcal(night.table, night.model)
    assert np.isnan(gains.chi_square_per_dof)
    assert "nothing is checked" in str(gains)
    check_application(gains)


def test_a_result_passes_the_check_of_applications():
    night = radio.simulate(slots=6, walk=5, rng=7)
    check_application(radio.selfcal(night.table, night.model))


def test_the_other_sign_of_baselines_is_seen():
    night = radio.simulate(slots=30, rng=8)
    turned = night.table | {name: -night.table[name] for name in ("U(lambda)", "V(lambda)")}
    with pytest.warns(OrientationWarning, match="turned by 180 degrees fits far better"):
        radio.selfcal(turned, night.model)


def test_baselines_in_other_units_are_seen():
    night = radio.simulate(slots=5, rng=9)
    giga = night.table | {name: night.table[name] / 1e9 for name in ("U(lambda)", "V(lambda)")}
    with pytest.warns(UnitWarning, match="uv_unit='Mlambda'"):
        radio.selfcal(giga, night.model)
    right = radio.selfcal(giga, night.model, uv_unit="Glambda")
    assert right.chi_square_per_dof < 2


@pytest.mark.parametrize(("size", "unit"), [(1e3, "klambda"), (1e6, "Mlambda")])
def test_baselines_in_units_between_are_seen_too(size, unit):
    night = radio.simulate(slots=5, rng=9)
    table = night.table | {name: night.table[name] / size for name in ("U(lambda)", "V(lambda)")}
    with pytest.warns(UnitWarning, match="looks like a point"):
        radio.selfcal(table, night.model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        radio.selfcal(table, night.model, uv_unit=unit)


def test_one_visibility_of_a_ring_is_not_taken_for_a_point():
    night = radio.simulate(slots=5, rng=9)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        radio.selfcal({name: column[:1] for name, column in night.table.items()}, night.model)
        radio.selfcal(night.table, lambda u, v: night.model(u, v) + 0 / np.abs(u) * 0)  # not defined at 0
    assert [one for one in told if issubclass(one.category, UnitWarning)] == []


def test_a_reference_without_data_is_named():
    table = slots_apart() | {"amplitude": [1, 0, 0, np.nan, 1, 1, 1]}
    gains = radio.selfcal(table, radio.point(), "d")
    assert "The reference 'd' has no visibility that can be used" in str(gains)
    assert "The reference 'a'" not in str(radio.selfcal(table, radio.point(), "a"))
    assert "The reference" not in str(radio.selfcal(table, radio.point(), "mean"))


def test_a_simulated_night_is_written_and_read(tmp_path):
    night = radio.simulate(slots=3, rng=1)
    night.save(tmp_path / "night.csv")
    assert (tmp_path / "night.csv").read_text().splitlines()[0].startswith("time(UTC),T1,T2,U(lambda)")
    kept, direct = (radio.selfcal(source, night.model) for source in (tmp_path / "night.csv", night.table))
    assert np.allclose(kept.phase, direct.phase, equal_nan=True)


def test_a_simulation_that_cannot_be_is_refused():
    with pytest.raises(InputError, match="at least 2 stations"):
        radio.simulate(stations=1)
    with pytest.raises(InputError, match="noise must be positive"):
        radio.simulate(noise=0)
    with pytest.raises(InputError, match="needs a position_angle"):
        radio.simulate(model=radio.ring(42, 0.5, 10))
    with pytest.raises(TypeError, match="rng"):
        radio.simulate(seed=3)


@pytest.mark.shared_data
def test_m87_is_a_ring_and_no_point(shared_data):
    path = shared_data / "radio" / "SR1_M87_2017_100_hi_hops_netcal_StokesI.csv"
    ring = radio.selfcal(path, radio.ring(43.7, 0.71, 10))
    assert ring.phase.shape == (186, 7)
    assert ring.chi_square_per_dof < 1.8
    assert ring.residual_rms < 11
    assert ring.certified.all()
    assert ring.model.position_angle == pytest.approx(169, abs=2)
    point = radio.selfcal(path, radio.point())
    assert point.chi_square_per_dof == pytest.approx(9.1, abs=0.05)
    assert point.certified.all()
    assert ring.degrees_of_freedom.sum() == 1722


@pytest.mark.shared_data
def test_the_optimum_on_m87_is_that_of_least_squares(shared_data):
    from scipy.optimize import least_squares

    data = radio.read(shared_data / "radio" / "SR1_M87_2017_100_hi_hops_netcal_StokesI.csv")
    gains = radio.selfcal(data, radio.ring(43.7, 0.71, 10))
    model = gains.model(data.u, data.v)
    root = np.sqrt(np.abs(data.value) * np.abs(model)) / data.sigma
    for slot in range(0, 186, 10):  # the benchmark compares all of them
        rows = data.slot == slot
        i, j, w, target = data.first[rows], data.second[rows], root[rows], (data.value / model)[rows]
        target = target / np.abs(target)

        def misfit(theta, i=i, j=j, w=w, target=target):
            off = w * (target - np.exp(1j * (theta[i] - theta[j])))
            return np.concatenate([off.real, off.imag])

        start = np.nan_to_num(np.angle(gains.gain[slot]))
        least = least_squares(misfit, start + 0.1 * np.sin(np.arange(7)), method="lm").cost
        assert np.sum(misfit(start) ** 2) / 2 <= least * (1 + 1e-9) + 1e-12
