"""Every example runs, and what its text and pictures claim is so.

The figures are those of fixed seeds: a bound that follows from a law says which one, the others are what came out with
room for the rounding of other machines.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import angsync as ang

pytest.importorskip("matplotlib").use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*/*.py"))}
CERTIFIED = ang.Verdict.CERTIFIED


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs an example as a user would, and gives its names; it must have printed something and drawn something."""
    monkeypatch.setattr(plt, "show", lambda: None)

    def go(name: str) -> SimpleNamespace:
        try:
            names = SimpleNamespace(**runpy.run_path(str(EXAMPLES[name]), run_name="__main__"))
            assert plt.get_fignums(), "nothing was drawn"
            for number in plt.get_fignums():
                plt.figure(number).canvas.draw()
        finally:
            plt.close("all")
        assert capsys.readouterr().out.strip()
        return names

    return go


def test_clocks(run):
    seen = run("clocks")
    assert np.array_equal(seen.found, seen.network.is_bad)
    assert seen.found.sum() == 11
    # 48 intervals of 95 %: fewer than 40 have a probability of 0.2 %
    assert seen.within.sum() >= 40


def test_ranking(run):
    seen = run("ranking")
    assert seen.result.is_proved
    assert seen.held >= 0.8
    assert 5 < seen.width < 15
    assert 0.5 < seen.chance < 1


def test_phase_retrieval(run):
    seen = run("phase_retrieval")
    assert seen.error < -38
    assert seen.result.is_proved


def test_insar(run):
    seen = run("insar")
    assert seen.all_pairs < seen.one_pair / 2
    assert seen.linked.certified.mean() > 0.99
    assert seen.stack.slc.shape[0] * (seen.stack.slc.shape[0] - 1) / 2 == 276


def test_pose_graph(run):
    seen = run("pose_graph")
    assert seen.rms(seen.place) > 3 > 1 > seen.rms(seen.found)
    assert seen.result.is_proved


def test_beam_optics(run):
    seen = run("beam_optics")
    assert sorted(seen.named) == sorted(seen.machine.bad)
    assert len(seen.named) == 3
    assert np.array_equal([name in seen.result.turns for name in seen.machine.name], seen.machine.turns != 0)
    assert 0.88 < seen.held <= 1


def test_radio(run):
    seen = run("radio")
    assert seen.gains.certified.all()
    # about 230 phases; 95 % less four standard errors of 1.4 %
    assert seen.held > 0.89
    assert abs(seen.gains.model.position_angle - 170) < 3


def test_sensor_network(run):
    seen = run("sensor_network")
    assert seen.result.certificate.verdict is CERTIFIED
    assert seen.error / 0.17 < 0.03
    assert np.abs(seen.without).max() < 0.5  # joined as they come, the maps collapse


def test_certified_phases(run):
    seen = run("certified_phases")
    assert seen.result.certificate.verdict is CERTIFIED
    # the Cramer-Rao bound: sigma / sqrt(2 n) = 0.1 rad = 5.7 degrees
    assert np.sqrt(np.mean(seen.error**2)) == pytest.approx(5.7, rel=0.1)


@pytest.mark.slow
def test_certificate_threshold(run):
    seen = run("certificate_threshold")
    share = dict(zip(seen.levels.round(2), seen.proved.mean(axis=1), strict=True))
    assert share[0.3] == share[0.35] == 1
    assert share[0.5] < 0.3
    assert share[0.6] == share[0.7] == 0
    error = seen.error.mean(axis=1)
    assert (np.diff(error) > 0).all()
    assert error[-1] < 1  # beyond the proof there is still a signal: random phases would have 1.41


def test_leaving_a_local_maximum(run):
    seen = run("leaving_a_local_maximum")
    assert seen.stuck.certificate.verdict is ang.Verdict.REFUTED
    assert seen.stuck.objective == pytest.approx(60 * np.cos(2 * np.pi / 30), rel=1e-9)
    assert seen.free.certificate.verdict is CERTIFIED
    assert seen.free.objective == pytest.approx(60, rel=1e-9)


@pytest.mark.slow
def test_cramer_rao(run):
    seen = run("cramer_rao")
    for ratio, error in (*seen.dense[:4], *seen.sparse):
        assert abs(ratio[1] - 1) < 4 * error[1] + 0.05  # angsync: at the bound, to first order in the noise
    assert all(ratio[0] > 1.2 for ratio, _ in seen.sparse)  # the eigenvector is not, on the network
    assert all(ratio[0] >= ratio[1] for ratio, _ in (*seen.dense[2:], *seen.sparse))


def test_weights_and_error_bars(run):
    seen = run("weights_and_error_bars")
    assert seen.pairs[seen.worst] == ("A", "C")
    assert (seen.better[1:] < seen.errors[1:] / 3).all()
    true = np.array(list(seen.truth.values()))
    # three standard errors and more: one degree of freedom less than the measurements leave is Student's t
    assert (np.abs(seen.again.angles - true)[1:] < 4.3 * seen.better[1:]).all()


@pytest.mark.slow
def test_coverage(run):
    seen = run("coverage")
    # the errors of one draw are correlated: some 10 of 35 count, so 200 draws have a standard error of 0.5 %
    assert 0.93 < seen.share < 0.97


def test_outliers(run):
    seen = run("outliers")
    assert seen.before > 5 > 1 > seen.after
    assert seen.caught > 0.9
    assert seen.blamed < 0.03
    assert seen.robust.robust.credible


def test_anchors(run):
    seen = run("anchors")
    assert seen.maps[1].max() < 0.7 * seen.maps[0].max()
    assert np.allclose(seen.maps[1].ravel()[seen.corners], 0)


def test_weak_spots(run):
    seen = run("weak_spots")
    assert len(seen.weak.bridges) == 1
    assert seen.after[14:].mean() < 0.75 * seen.before[14:].mean()


def test_your_own_operator(run):
    seen = run("your_own_operator")
    assert seen.result.certificate.verdict is CERTIFIED
    assert np.abs(seen.error).max() < 1e-7


def test_stack_of_problems(run):
    seen = run("stack_of_problems")
    assert seen.result.converged.all()
    assert seen.left > 0.99
    assert 0.5 < seen.right < 0.95


@pytest.mark.slow
def test_hundred_thousand_nodes(run):
    seen = run("hundred_thousand_nodes")
    assert seen.result.n == 100_000
    assert seen.result.certificate.verdict is CERTIFIED
    assert seen.rms < 0.35


def test_every_example_is_asserted_and_has_its_place():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import gallery_look
    finally:
        sys.path.remove(str(ROOT / "docs"))
    assert set(EXAMPLES) == {name.removeprefix("test_") for name in globals()} & set(EXAMPLES)
    assert set(EXAMPLES) == set(gallery_look.FIRST)
    assert set(gallery_look.CROPS) <= set(EXAMPLES)
