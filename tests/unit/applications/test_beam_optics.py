"""Phases of monitors: against the truth, error bars that may be combined and those that may not, flags, files."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from angsync.applications import beam_optics
from angsync.errors import DisconnectedWarning, ErrorBarWarning, InputError
from angsync.io.tfs_file import read_tfs
from angsync.testing import check_application


def off(result, machine):
    return (result.phase - machine.phase + 0.5) % 1 - 0.5


def test_a_complete_table_has_the_error_of_its_closed_form():
    """rms = s sqrt(n - 1) / n in the mean gauge; of n = 200 nearly independent errors its standard deviation is 5 %, of
    ten seeds 1.6 %."""
    ratios = []
    for seed in range(10):
        machine = beam_optics.simulate(200, kind="complete", error=0.003, spread=1, rng=seed)
        result = beam_optics.synchronize(machine.tables)
        left = off(result, machine)
        ratios.append(np.std(left) / (0.003 * np.sqrt(199) / 200))
        assert result.is_combined
    assert np.mean(ratios) == pytest.approx(1, abs=0.048)


def test_error_bars_of_independent_tables_hold():
    """99 phases a seed share the noise of the reference; 30 seeds. The share inside has a standard deviation of at most
    sqrt(.95 * .05 / 30 / 5) = 1.8 %, for the ring ties at least five groups of monitors that share little else."""
    inside = []
    for seed in range(30):
        machine = beam_optics.simulate(100, rng=seed)
        result = beam_optics.synchronize(machine.tables, independent=True)
        inside.append(np.abs(off(result, machine)[1:]) < 1.959964 * result.standard_error[1:])
    assert 0.92 < np.mean(inside) < 0.98
    assert result.degrees_of_freedom == 198 - 99
    assert (result.standard_error[0], result.reference) == (0, "BPM.0000")


def test_one_data_set_twice_is_not_combined():
    machine = beam_optics.simulate(60, rng=0)
    total = machine.tables[1]
    phase = dict(zip(total.first, total.phase, strict=True)) | {"BPM.0000": 0.0}
    near = machine.tables[0]
    written_twice = np.array([phase[a] - phase[b] for a, b in zip(near.first, near.second, strict=True)]) % 1
    tables = (dataclasses.replace(near, phase=written_twice), total)
    for independent in (False, True):
        with pytest.warns(ErrorBarWarning, match="not independent.*Combined error bars are refused"):
            result = beam_optics.synchronize(tables, independent)
        assert not result.is_combined
        assert result.chi_square_per_dof < 1e-9
        # not shrunk by what is no second measurement
        combined = result.sync.standard_errors(1.0, gauge=0) / (2 * np.pi)
        assert (result.standard_error >= combined).all()
        assert np.median(result.standard_error[1:] / combined[1:]) > 1.2
    assert np.allclose(off(result, machine), (total_truth(total, machine)), atol=1e-8)
    assert (result.fit.look, result.fit.headline) == ("none", "Rows are not independent")


def test_the_page_is_in_turns_throughout(tmp_path):
    page = beam_optics.synchronize(beam_optics.simulate(40, rng=0).tables).to_html(tmp_path / "page.html").read_text()
    assert "measured minus fitted angle (turns)" in page
    assert "°" not in page.partition("How well the measurements fit")[2].partition("</section>")[0]


def total_truth(total, machine):
    return np.append(0, (total.phase - machine.phase[1:] + 0.5) % 1 - 0.5)


def test_tables_are_combined_only_where_that_is_said():
    machine = beam_optics.simulate(60, rng=1)
    careful, combined = (beam_optics.synchronize(machine.tables, independent) for independent in (False, True))
    assert not careful.is_combined
    assert "not said to be independent" in str(careful)
    assert combined.is_combined
    assert (combined.standard_error <= careful.standard_error + 1e-12).all()
    assert np.array_equal(careful.phase, combined.phase)


def test_turns_are_corrected():
    machine = beam_optics.simulate(80, turned=8, rng=2)
    result = beam_optics.synchronize(machine.tables, independent=True)
    assert result.turns == {name: int(k) for name, k in zip(machine.name, machine.turns, strict=True) if k}
    assert (result.flags == "turn").sum() == 8
    assert np.abs(off(result, machine)).max() < 0.01
    assert "8 monitors are off by whole turns" in str(result)
    as_they_are = beam_optics.synchronize(machine.tables, independent=True, turns=False)
    assert np.abs(off(as_they_are, machine)).max() > 0.2
    told = beam_optics.synchronize(machine.tables, independent=True, turns=dict(result.turns) | {"NOBODY": 1})
    assert np.allclose(told.phase, result.phase)
    assert "names 1 monitors that the tables do not have" in str(told)


def test_turns_that_are_given_are_against_those_of_the_reference():
    machine = beam_optics.simulate(20, rng=2)
    plain = beam_optics.synchronize(machine.tables, turns=False)
    told = beam_optics.synchronize(machine.tables, turns={"BPM.0000": 1, "BPM.0004": 1})
    moved = (told.phase - plain.phase + 0.5) % 1 - 0.5
    assert moved[[0, 4]] == pytest.approx([0, 0], abs=1e-12)
    assert moved[5] == pytest.approx(0.28)


def test_turns_need_a_tune():
    tables = tuple(dataclasses.replace(table, tune=None) for table in beam_optics.simulate(20, rng=0).tables)
    assert not beam_optics.synchronize(tables).turns
    with pytest.raises(InputError, match="no table has the tune"):
        beam_optics.synchronize(tables, turns={"BPM.0001": 1})


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
def test_monitors_that_nothing_ties_to_the_reference_are_flagged():
    table = beam_optics.simulate(10, rng=0).tables[1]
    first, second = (*table.first, "Y1"), (*table.second, "Y2")
    apart = dataclasses.replace(
        table, first=first, second=second, phase=np.append(table.phase, 0.3), error=np.append(table.error, 0.001)
    )
    result = beam_optics.synchronize(apart)
    flags = dict(zip(result.name, result.flags, strict=True))
    assert (flags["Y1"], flags["Y2"], flags["BPM.0003"]) == ("apart", "apart", "")
    assert np.isnan(result.phase[result.flags == "apart"]).all()
    assert np.isnan(result.standard_error[result.flags == "apart"]).all()
    assert issubclass(DisconnectedWarning, UserWarning)
    check_application(result)


def test_a_tree_says_that_nothing_is_checked():
    result = beam_optics.synchronize(beam_optics.simulate(10, rng=0).tables[1])
    assert result.degrees_of_freedom == 0
    assert "No row checks another" in str(result)


def test_files(tmp_path):
    machine = beam_optics.simulate(25, rng=3)
    paths = machine.save(tmp_path)
    direct = beam_optics.synchronize(machine.tables, independent=True)
    result = beam_optics.synchronize(beam_optics.read(*paths), independent=True)
    assert np.allclose(result.phase, direct.phase)
    check_application(result)
    result.save(tmp_path / "out.tfs")
    headers, table = read_tfs(tmp_path / "out.tfs")
    assert table.names[:4] == ["NAME", "S", "PHASEX", "ERRPHASEX"]
    assert table.numbers("PHASEX").tolist() == result.PHASE.tolist()
    assert table.numbers("DELTAPHASEX").tolist() == result.DELTAPHASE.tolist()
    assert set(table.texts("FLAG")) == {"ok"}
    assert not result.FLAG.any()
    assert headers["REFERENCE"] == result.reference
    assert (result.NAME, result.ERRPHASE is result.standard_error) == (result.name, True)
    one = beam_optics.synchronize(paths[1])
    assert len(one.name) == 25


def test_to_tfs_is_a_frame_or_names_the_extra(monkeypatch):
    result = beam_optics.synchronize(beam_optics.simulate(5, rng=0).tables, independent=True)
    import sys

    monkeypatch.setitem(sys.modules, "tfs", None)
    with pytest.raises(ImportError, match=r"angsync\[beam\]"):
        result.to_tfs()
    monkeypatch.undo()
    pytest.importorskip("tfs")
    assert result.to_tfs().headers["REFERENCE"] == "BPM.0000"


@pytest.mark.parametrize(
    "options", [{"monitors": 2}, {"kind": "star"}, {"error": 0}, {"spread": 0.5}, {"monitors": 5, "bad": 5}]
)
def test_a_simulation_that_cannot_be_is_refused(options):
    with pytest.raises(InputError):
        beam_optics.simulate(**options)


@pytest.mark.shared_data
def test_the_tables_of_the_lhc_are_one_data_set_twice(shared_data):
    folder = shared_data / "beam-optics"
    tables = beam_optics.read(folder / "lhc_phase_x.tfs", folder / "lhc_total_phase_x.tfs")
    with pytest.warns(ErrorBarWarning, match="not independent"):
        result = beam_optics.synchronize(tables, independent=True)
    assert not result.is_combined
    assert result.chi_square_per_dof < 1e-10
    assert len(result.name) == 514
    assert not result.flagged.any()
    assert np.nanmedian(result.standard_error) == pytest.approx(1.2e-3, rel=0.05)
    table = tables[1]
    found = dict(zip(result.name, result.phase, strict=True))
    apart = [(found[a] - x + 0.5) % 1 - 0.5 for a, x in zip(table.first, table.phase, strict=True)]
    assert np.abs(apart).max() < 2e-6


@pytest.mark.shared_data
def test_superkekb_has_monitors_off_by_whole_turns_in_y_and_nothing_to_tell_in_x(shared_data):
    folder = shared_data / "beam-optics"
    vertical = beam_optics.synchronize(beam_optics.read(folder / "superkekb_total_phase_y.tfs"))
    assert sorted(vertical.turns.values()) == [-2] * 3 + [-1] * 13
    assert np.std(vertical.delta_phase) < 0.017
    horizontal = beam_optics.synchronize(beam_optics.read(folder / "superkekb_total_phase_x.tfs"))
    assert not horizontal.turns
