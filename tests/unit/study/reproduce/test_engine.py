"""The reproduction run: every row, stored as soon as it is finished, stopped and resumed."""

from __future__ import annotations

import json
import signal

import pytest
from reproduction import TINY, Recorder, swallowed

from angsync.study.reproduce import CLAIMS, EXPERIMENTS, lines, run_experiments, store, violated
from angsync.study.reproduce.store import SERIES


def test_every_row_is_there_in_order_and_held(results):
    assert [row["id"] for row in results["rows"]] == list(CLAIMS)
    assert violated(results) == []
    for row, line in zip(results["rows"], lines(results), strict=True):
        assert line.startswith(f"{row['id']}  held")
        assert "\n" not in line
        assert row["cases"] > 0
        assert row["claim"] == CLAIMS[row["id"]]
        assert row["allowance"]
    assert "reported" in next(row["measured"] for row in results["rows"] if row["id"] == "F2")


def test_series_have_the_fields_that_the_page_draws(results):
    fields = {
        "errors": {"alpha", "n", "sigma", "seed", "l2", "l2_bound", "linf", "linf_bound"},
        "convergence": {
            "n", "sigma", "noise", "alpha", "gap", "distance", "fitted_rate", "theorem_rate", "theorem_applies",
        },
        "error_bound": {"n", "sigma", "rho", "distance", "applies"},
        "efficiency": {"n", "noise", "method", "ratio", "standard_error", "runs"},
        "transitions": {
            "n", "noise", "certified", "best_known", "theorem_1_applies", "theorem_3_applies", "runs",
        },
        "time": {"n", "method", "seconds"},
    }  # fmt: skip
    assert set(results["series"]) == set(SERIES) == set(fields)
    for name, expected in fields.items():
        assert results["series"][name], name
        assert all(set(entry) == expected for entry in results["series"][name]), name
    assert [entry["alpha"] for entry in results["series"]["errors"]] == [2.0, 4.0, 16.0, "inf"]
    for entry in results["series"]["errors"]:
        assert len({len(entry[key]) for key in ("l2", "l2_bound", "linf", "linf_bound")}) == 1
        assert all(error <= bound * (1 + 1e-12) for error, bound in zip(entry["l2"], entry["l2_bound"], strict=True))
    assert any(entry["theorem_applies"] for entry in results["series"]["convergence"])
    assert {entry["method"] for entry in results["series"]["efficiency"]} == {"eigenvector", "gpm", "sdr"}
    # the noise at which theory, certificate and method end
    easy, hard = results["series"]["transitions"][0], results["series"]["transitions"][-1]
    assert easy["theorem_3_applies"] == easy["certified"] == easy["best_known"] == 1
    assert hard["theorem_1_applies"] == hard["theorem_3_applies"] == 0


def test_the_file_is_strict_json_of_the_results(tmp_path):
    path = tmp_path / "results.json"
    results = run_experiments(path, quick=True, seed=3, size=TINY, experiments=EXPERIMENTS[:2])
    assert json.loads(path.read_text(), parse_constant=pytest.fail) == results
    assert results["format"] == "angsync-reproduction"
    assert results["version"] == 1
    assert results["settings"]["seed"] == 3
    assert set(results["settings"]["versions"]) == {"angsync", "numpy", "scipy", "python"}
    assert violated(results) == [name for name in CLAIMS if name not in ("M1", "M2")]  # missing rows did not hold


def _without_times(results):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in results["rows"]]


def test_numbers_depend_on_the_seed_and_not_on_the_order(tmp_path):
    some = tuple(e for e in EXPERIMENTS if e.name in ("distances", "every iterate", "estimators"))
    first = run_experiments(tmp_path / "a", quick=True, seed=1, size=TINY, experiments=some)
    again = run_experiments(tmp_path / "b", quick=True, seed=1, size=TINY, experiments=some[::-1])
    other = run_experiments(tmp_path / "c", quick=True, seed=2, size=TINY, experiments=some)
    assert _without_times(first) == _without_times(again)
    assert first["series"] == again["series"]
    assert _without_times(first) != _without_times(other)


def test_a_second_run_skips_what_is_stored_and_other_settings_start_anew(tmp_path, monkeypatch):
    path, recorder = tmp_path / "results.json", Recorder()
    two = (recorder.experiment("one", "M1"), recorder.experiment("two", "M2"))
    shares = []

    def run(**settings):
        recorder.ran.clear()
        call = {"quick": True, "seed": 0, **settings}
        return run_experiments(path, experiments=two, report=lambda name, share: shares.append(share), **call)

    first = run()
    assert recorder.ran == ["one", "two"]
    assert shares == [0.0, 0.5, 0.5, 1.0]
    assert run() == first
    assert recorder.ran == []
    for settings in ({"seed": 1}, {"quick": False}):
        run(**settings)
        assert recorder.ran == ["one", "two"], settings
    monkeypatch.setattr("angsync.study.reproduce.store._code_digest", lambda: "changed")
    run(quick=False)
    assert recorder.ran == ["one", "two"]
    path.write_text("{ broken")
    assert [row["id"] for row in run(quick=False)["rows"]] == ["M1", "M2"]


def _at_once():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("press", "ticks", "ended"),
    [(_at_once, True, ["one"]), (swallowed, True, ["one"]), (swallowed, False, ["one", "two"])],
)
def test_ctrl_c_keeps_what_is_finished_and_nothing_half_done(tmp_path, press, ticks, ended):
    path, recorder = tmp_path / "results.json", Recorder()
    one = recorder.experiment("one", "M1")
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_experiments(path, quick=True, experiments=(one, recorder.experiment("two", "M2", press, ticks)))
    assert recorder.ended == ended
    assert signal.getsignal(signal.SIGINT) is handler
    assert list(json.loads(path.read_text())["finished"]) == ["one"]
    recorder.ran.clear()
    results = run_experiments(path, quick=True, experiments=(one, recorder.experiment("two", "M2")))
    assert recorder.ran == ["two"]
    assert results["notes"] == ["one", "two"]


def test_a_change_anywhere_in_the_package_is_another_code(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(store.resources, "files", lambda package: asked.append(package) or tmp_path)
    (tmp_path / "solvers").mkdir()
    (tmp_path / "solvers" / "gpm.py").write_text("alpha = 4\n")
    first, same = store._code_digest(), store._code_digest()
    (tmp_path / "solvers" / "gpm.py").write_text("alpha = 5\n")
    assert first == same != store._code_digest()
    assert set(asked) == {"angsync"}
