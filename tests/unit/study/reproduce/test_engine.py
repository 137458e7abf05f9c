"""The reproduction run: rows, seeds, interruption, and what is written."""

from __future__ import annotations

import signal
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from reproduction import TINY, swallowed

from angsync.study.reproduce import CLAIMS, EXPERIMENTS, run_experiments
from angsync.study.reproduce.figures import write_figures
from angsync.study.reproduce.rows import Piece


def test_run_has_every_row_in_order_and_all_hold(results):
    assert [row.id for row in results.rows] == list(CLAIMS)
    assert results.violated == []
    for row in results.rows:
        assert str(row).startswith(f"{row.id}  held")
        assert "\n" not in str(row)
        assert row.cases > 0
        assert row.allowance


def test_series_say_where_theory_and_method_end(results):
    for entry in results.series["errors"]:
        assert len({len(entry[key]) for key in ("l2", "l2_bound", "linf", "linf_bound")}) == 1
        assert all(error <= bound * (1 + 1e-12) for error, bound in zip(entry["l2"], entry["l2_bound"], strict=True))
    assert [entry["alpha"] for entry in results.series["errors"]] == ["2", "4", "16", "inf"]
    assert any(entry["theorem_applies"] for entry in results.series["convergence"])
    assert {entry["method"] for entry in results.series["efficiency"]} == {"eigenvector", "gpm", "sdr"}
    easy, hard = results.series["transitions"][0], results.series["transitions"][-1]
    assert easy["theorem_3_applies"] == easy["certified"] == easy["best_known"] == 1
    assert hard["theorem_1_applies"] == hard["theorem_3_applies"] == 0


def test_numbers_depend_on_the_seed_and_not_on_the_order():
    some = ("distances", "every iterate", "estimators")
    first = run_experiments(quick=True, seed=1, size=TINY, experiments=some)
    again = run_experiments(quick=True, seed=1, size=TINY, experiments=some[::-1])
    other = run_experiments(quick=True, seed=2, size=TINY, experiments=some)
    assert first == again
    assert first.rows != other.rows
    assert first.violated == [name for name in CLAIMS if name not in ("M3", "F1", "F2", "F3", "T1", "T2")]


def test_progress_ends_with_the_whole():
    shares = []
    run_experiments(
        quick=True, size=TINY, experiments=("objectives", "distances"), report=lambda name, share: shares.append(share)
    )
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


@pytest.mark.parametrize("ticks", [True, False])
def test_ctrl_c_that_a_solver_swallowed_ends_the_run(monkeypatch, ticks):
    ran = []

    def experiment(size, trials):
        ran.append("one")
        for _ in trials(1) if ticks else (0,):
            swallowed()
        ran.append("not reached after a tick")
        return Piece()

    monkeypatch.setitem(EXPERIMENTS, "objectives", experiment)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        run_experiments(quick=True, size=TINY, experiments=("objectives", "distances"))
    assert len(ran) == (1 if ticks else 2)
    assert signal.getsignal(signal.SIGINT) is handler


def test_figures_are_the_same_for_the_same_numbers(results, tmp_path):
    pytest.importorskip("matplotlib")
    written = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        files = dict(write_figures(results.series, tmp_path / name))
        assert set(files) == {f"{key}.svg" for key in results.series}
        written.append({file: (tmp_path / name / file).read_bytes() for file in files})
    assert written[0] == written[1]
    for content in written[0].values():
        words = " ".join(ElementTree.fromstring(content).itertext())
        assert "noise" in words or "iteration" in words or "bound" in words


def test_figures_skip_what_a_logarithm_has_no_place_for(results, tmp_path):
    pytest.importorskip("matplotlib")
    series = {**results.series, "convergence": [dict(entry) for entry in results.series["convergence"]]}
    series["convergence"][0]["gap"] = np.zeros(3).tolist()
    assert len(list(write_figures(series, tmp_path))) == len(series)
