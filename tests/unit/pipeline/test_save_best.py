"""SaveBest: the file holds the best phases, and a later call starts from them."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import SaveBest, Status, Stopping
from angsync.errors import AngsyncWarning, InputError, OutputError
from angsync.pipeline import save_best


class Stopped(Exception):
    """Ends a solve as a kill does: nothing after it runs."""


def killed(data, save, after, **options):
    """Solve until the callback was called so often, and no further."""
    calls = []

    def callback(progress):
        save(progress)
        calls.append(progress)
        if len(calls) == after:
            raise Stopped

    with pytest.raises(Stopped):
        ang.synchronize(data, callback=callback, **options)


def two_grids():
    one, other = (ang.simulate.grid(20, 20, sigma=0.3, rng=rng).measurements for rng in (3, 4))
    return ang.Measurements(np.r_[one.i, other.i + one.n], np.r_[one.j, other.j + one.n], np.r_[one.angle, other.angle])


PROBLEMS = {
    "dense": lambda: ang.simulate.gaussian(60, 2.0, rng=1).C,
    "dense, single precision": lambda: ang.simulate.gaussian(60, 2.0, rng=1).C.astype(np.complex64),
    "sparse": lambda: ang.simulate.grid(30, 30, sigma=0.3, rng=1).measurements,
    "two components": two_grids,
    "small components": lambda: ang.Measurements([0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3], [0.1, 0.2, -0.2, 1, 1, -2.1]),
    "reordered": lambda: ang.simulate.grid(250, 250, sigma=0.1, rng=1).measurements,
}


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
@pytest.mark.parametrize("name", PROBLEMS)
def test_save_best_after_kill_continues_to_the_same_optimum(name, tmp_path):
    data = PROBLEMS[name]()
    plain = ang.synchronize(data)
    file = tmp_path / "best.npz"
    killed(data, SaveBest(file, seconds=0), after=2)
    saved = ang.load_result(file)
    assert saved.n == plain.n
    again = ang.synchronize(data, start=saved)
    assert again.objective == pytest.approx(plain.objective, rel=1e-6 if plain.z.dtype == np.complex64 else 1e-10)
    assert again.certificate.verdict is plain.certificate.verdict


def test_save_best_holds_the_point_with_the_largest_objective(tmp_path):
    C = ang.simulate.gaussian(40, 3.0, rng=0).C
    save, seen = SaveBest(tmp_path / "best.npz", seconds=0), []
    ang.synchronize(C, callback=lambda progress: seen.append(progress.objective) or save(progress))
    saved = ang.load_result(tmp_path / "best.npz")
    assert saved.objective == max(seen)
    assert np.vdot(saved.z, C @ saved.z).real == pytest.approx(max(seen), rel=1e-12)


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
def test_save_best_leaves_components_not_reached_open(tmp_path):
    data = two_grids()
    killed(data, SaveBest(tmp_path / "best.npz", seconds=0), after=1)
    saved = ang.load_result(tmp_path / "best.npz")
    assert np.isnan(saved.z).sum() == 400
    assert np.isfinite(saved.z).sum() == 400
    plain, again = ang.synchronize(data), ang.synchronize(data, start=saved)
    assert again.objective == pytest.approx(plain.objective, rel=1e-10)
    assert ang.synchronize(data, start=saved, solver=ang.Robust()).converged


def test_start_with_nan_of_the_caller_is_refused():
    data = two_grids()
    with pytest.raises(InputError, match="start"):
        ang.synchronize(data, start=np.full(800, np.nan + 0j))


def test_start_from_result_follows_labels(tmp_path):
    problem = ang.simulate.ring(6, sigma=0.1, rng=0).measurements
    names = list("abcdef")
    one = ang.Measurements([names[k] for k in problem.i], [names[k] for k in problem.j], problem.angle)
    i, j = ([names[k] for k in ends] for ends in (problem.i, problem.j))
    # the same pairs, whose nodes come in another order
    turned = ang.Measurements(i[::-1], j[::-1], problem.angle[::-1])
    assert turned.labels != one.labels
    save = SaveBest(tmp_path / "best.npz", seconds=0)
    result = ang.synchronize(one, callback=save)
    saved = ang.load_result(tmp_path / "best.npz")
    assert saved.labels == one.labels
    stay = Stopping(max_iterations=0)
    again = ang.synchronize(turned, start=saved, stopping=stay, solver=ang.Newton(), on_failure="ignore")
    assert again.objective == pytest.approx(result.objective, rel=1e-12)
    other = ang.Measurements(["x" if name == "a" else name for name in i], ["x" if name == "a" else name for name in j],
                             problem.angle)  # fmt: skip
    with pytest.raises(InputError, match="other nodes"):
        ang.synchronize(other, start=saved)


@pytest.mark.parametrize("known", [{"anchors": {0: 0.4, 7: 1.0}}, {"priors": {3: (0.5, 2.0)}}])
def test_save_best_with_anchors_saves_phases_of_the_given_nodes(known, tmp_path):
    data = ang.simulate.grid(12, 12, sigma=0.2, rng=0).measurements
    plain = ang.synchronize(data, **known)
    ang.synchronize(data, callback=SaveBest(tmp_path / "best.npz", seconds=0), **known)
    saved = ang.load_result(tmp_path / "best.npz")
    np.testing.assert_allclose(saved.z, plain.z, atol=1e-5)
    again = ang.synchronize(data, start=saved, **known)
    np.testing.assert_allclose(again.z, plain.z, atol=1e-6)


def test_save_best_waits_between_saves(tmp_path, monkeypatch):
    saves = []
    monkeypatch.setattr(save_best.SaveBest, "_save", lambda self, progress: saves.append(progress.iteration))
    ang.synchronize(ang.simulate.gaussian(60, 3.0, rng=0).C, callback=SaveBest(tmp_path / "a.npz", seconds=1000))
    assert len(saves) == 1
    ang.synchronize(ang.simulate.gaussian(60, 3.0, rng=0).C, callback=SaveBest(tmp_path / "a.npz", seconds=0))
    assert len(saves) > 3


def test_save_best_serves_a_second_call(tmp_path):
    save = SaveBest(tmp_path / "best.npz", seconds=0)
    ang.synchronize(ang.simulate.gaussian(60, 1.0, rng=0).C, callback=save)
    small = ang.synchronize(ang.simulate.gaussian(20, 1.0, rng=0).C, callback=save)
    assert ang.load_result(tmp_path / "best.npz").objective == pytest.approx(small.objective, rel=1e-9)


def test_save_best_on_a_full_disk_warns_once_and_solves(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OutputError("cannot write best.npz: No space left on device.")

    monkeypatch.setattr(ang.SyncResult, "save", full)
    with pytest.warns(AngsyncWarning, match="No space") as told:
        result = ang.synchronize(
            ang.simulate.gaussian(60, 3.0, rng=0).C, callback=SaveBest(tmp_path / "best.npz", seconds=0)
        )
    assert result.status is Status.CONVERGED
    assert len(told) == 1


@pytest.mark.parametrize("path", ["best.csv", "", 3, "folder/that/is/not/there.npz"])
def test_save_best_refuses_paths_before_any_work(path):
    with pytest.raises((InputError, OutputError)):
        SaveBest(path)


@pytest.mark.parametrize(
    ("data", "options"),
    [
        (np.stack([np.eye(3)] * 2), {}),
        (ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, -0.3]), {"solver": ang.Robust()}),
        (np.ones((3, 3)), {"solver": ang.LowRankSDP()}),
    ],
)
def test_save_best_refuses_what_has_no_phases_to_save(data, options, tmp_path):
    with pytest.raises(InputError, match="SaveBest"):
        ang.synchronize(data, callback=SaveBest(tmp_path / "best.npz"), **options)
