"""The reproduction run: every row, and every row seen to fail."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import signal
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import angsync.study.reproduce
from angsync import circle, simulate, theory, uncertainty
from angsync.certificate import relaxation
from angsync.cli import app
from angsync.problem import objective
from angsync.solvers import GPM
from angsync.solvers.starts import eigenvector
from angsync.study.reproduce import CLAIMS, EXPERIMENTS, Experiment, Piece, Row, Size, lines, run_experiments, violated
from angsync.study.reproduce import efficiency as efficiency_module
from angsync.study.reproduce.engine import seed_of
from angsync.study.reproduce.rows import Inequalities, frequency, mean_and_error, with_error
from angsync.study.reproduce.runs import objective_gap
from angsync.study.reproduce.store import SERIES, clean

TINY = Size(
    model_order=60, identities=6, property_cases=200, facts=21, critical=3, theorems=16, convergence=8, relaxations=1,
    figure_order=40, bound_runs=24, bound_order=150, efficiency_order=20, efficiency_runs=2, efficiency_large_runs=2,
    transition_orders=(20,), transition_runs=2, time_orders=(20,), time_first_order=(),
)  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run_experiments(tmp_path_factory.mktemp("reproduce") / "results.json", quick=True, size=TINY)


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
    assert clean([math.nan, np.float64(2), {"a": math.inf}]) == [None, 2.0, {"a": None}]


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


class Recorder:
    """Experiments that do nothing but count."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.ended: list[str] = []

    def experiment(self, name, row, action=lambda: None, ticks=True):
        def run(size, seeds, tick):
            self.ran.append(name)
            action()
            if ticks:
                tick(1.0)
            self.ended.append(name)
            return Piece((Row(row, "x", True, "none", 1),), notes=(name,))

        return Experiment(name, run)


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


def _swallowed():
    """What the solvers' loop does with Ctrl-C: it stops early and returns its best point."""
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        return


def _at_once():
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("press", "ticks", "ended"),
    [(_at_once, True, ["one"]), (_swallowed, True, ["one"]), (_swallowed, False, ["one", "two"])],
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


# --- every row turns red when something is wrong -----------------------------------------------------------------


def _shrunk(function, factor, *names):
    """The function with these fields of its result multiplied by a factor."""

    @functools.wraps(function)
    def wrong(*arguments, **named):
        found = function(*arguments, **named)
        return dataclasses.replace(found, **{name: getattr(found, name) * factor for name in names})

    return wrong


def _largest_in_modulus(operator, tolerance, rng):
    values, vectors = np.linalg.eigh(np.asarray(operator.apply(np.eye(operator.n, dtype=complex))))
    return vectors[:, int(np.argmax(np.abs(values)))]


def _scaled_step(self, operator, state, step=GPM.step):
    return step(GPM(alpha=1.01 * min(self.alpha, 1e6)), operator, state)


def _wrong_constants(function, **factors):
    """Theorem 3 with wrong constants of Proposition 5."""

    @functools.wraps(function)
    def wrong(*arguments, **named):
        found = function(*arguments, **named)
        values = {name: getattr(found.constants, name) * factor for name, factor in factors.items()}
        return dataclasses.replace(found, constants=dataclasses.replace(found.constants, **values))

    return wrong


def _half_the_right_side(function, inner=None):
    @functools.wraps(function)
    def wrong(*arguments, **named):
        found = function(*arguments, **named)
        sides = found if inner is None else getattr(found, inner)
        halved = dataclasses.replace(sides, right=sides.right / 2)
        return halved if inner is None else dataclasses.replace(found, **{inner: halved})

    return wrong


_ORIGINAL_DISTANCE, _ORIGINAL_GAUSSIAN = circle.distance, simulate.gaussian
_ORIGINAL_CONSTANT, _ORIGINAL_BOUND = objective.least_squares_constant, relaxation.upper_bound

PLANTED = {
    "M1: 10 % more noise": (simulate, "gaussian", lambda n, s, rng=None: _ORIGINAL_GAUSSIAN(n, 1.1 * s, rng=rng)),
    "M2: wrong constant": (objective, "least_squares_constant", lambda C: 1.0001 * _ORIGINAL_CONSTANT(C)),
    "M3: 1 % too large": (circle, "distance", lambda w, z, q=2: 1.01 * _ORIGINAL_DISTANCE(w, z, q)),
    "M3: 1 % too small": (circle, "distance", lambda w, z, q=2: 0.99 * _ORIGINAL_DISTANCE(w, z, q)),
    "A1: step size off by 1 %": (GPM, "step", _scaled_step),
    "A2: largest eigenvalue in modulus": (eigenvector, "leading_eigenvector", _largest_in_modulus),
    "A3: bound too low": (relaxation, "upper_bound", lambda C, y: 0.9999 * _ORIGINAL_BOUND(C, y)),
    "F1: 1/2 for 8": (theory, "eigenvector_error_bound", _shrunk(theory.eigenvector_error_bound, 1 / 16, "bound")),
    "F3: 1/4 for 4": (theory, "maximiser_error_bound", _shrunk(theory.maximiser_error_bound, 1 / 16, "bound")),
    "F4: distance": (theory, "critical_point_bounds", _shrunk(theory.critical_point_bounds, 1 / 60, "distance")),
    "T1: an eighth": (theory, "l2_error_bound", _shrunk(theory.l2_error_bound, 1 / 8, "bounds")),
    "T2: an eighth": (theory, "linf_error_bound", _shrunk(theory.linf_error_bound, 1 / 8, "bounds")),
    "P1: 1 for 2": (theory, "normalisation_bound", _half_the_right_side(theory.normalisation_bound)),
    "P2: 1 for 2": (theory, "one_step_bound", _half_the_right_side(theory.one_step_bound, "inequality")),
    "P2: identity": (
        theory, "one_step_bound", lambda *a: dataclasses.replace(theory.estimation.one_step_bound(*a), identity_error=1)
    ),
    "C1: l2": (theory, "gaussian_error_bounds", _shrunk(theory.gaussian_error_bounds, 1 / 30, "l2")),
    "C1: l-infinity": (theory, "gaussian_error_bounds", _shrunk(theory.gaussian_error_bounds, 1 / 30, "linf")),
    "C1: square": (theory, "gaussian_error_bounds", _shrunk(theory.gaussian_error_bounds, 1e-4, "expected_square")),
    "C1: conditions": (
        theory, "gaussian_error_bounds",
        lambda n, s, *a: theory.estimation.gaussian_error_bounds(n, 2 * s, *a),
    ),
    "T3: rate": (theory, "linear_convergence", _shrunk(theory.linear_convergence, 1e-3, "rate")),
    "T3: factor": (theory, "linear_convergence", _shrunk(theory.linear_convergence, 1e-3, "factor")),
    "C2: rate": (theory, "linear_convergence", _shrunk(theory.linear_convergence, 1e-3, "rate")),
    "P3: 4/5 for 8": (theory, "optimum_distance_bound", _shrunk(theory.optimum_distance_bound, 1 / 10, "bound")),
    "P4: 4/5 for 8": (theory, "critical_distance_bound", _shrunk(theory.critical_distance_bound, 1 / 10, "bound")),
    "P5: a0": (theory, "linear_convergence", _wrong_constants(theory.linear_convergence, a0=10)),
    "P5: a1": (theory, "linear_convergence", _wrong_constants(theory.linear_convergence, a1=1 / 4)),
    "P5: a2": (theory, "linear_convergence", _wrong_constants(theory.linear_convergence, a2=1 / 4)),
    "B1: efficiency": (efficiency_module, "cramer_rao", lambda n, s: 0.8 * s**2 / 2 * (n - 1) / n),
    "B1: definition": (theory, "cramer_rao_bound", lambda m, s: 1.001 * uncertainty.cramer_rao_bound(m, s)),
}  # fmt: skip

ROW_OF_EXPERIMENT = {
    "M1": "measurement model", "M2": "objectives", "M3": "distances", "A1": "algorithm", "A2": "eigenvector",
    "A3": "relaxation", "F1": "estimators", "F3": "estimators", "F4": "critical points", "T1": "every iterate",
    "T2": "every iterate", "P1": "normalisation", "P2": "one step", "C1": "Gaussian errors",
    "T3": "linear convergence", "P3": "linear convergence", "P5": "linear convergence", "P4": "critical distances",
    "C2": "Gaussian convergence", "B1": "efficiency bound",
}  # fmt: skip


def test_every_row_with_a_verdict_has_a_planted_mistake():
    assert {name[:2] for name in PLANTED} == set(CLAIMS) - {"F2"} == set(ROW_OF_EXPERIMENT)


@pytest.mark.parametrize("mistake", PLANTED)
def test_a_planted_mistake_turns_the_row_red(mistake, monkeypatch):
    row = mistake[:2]
    monkeypatch.setattr(*PLANTED[mistake])
    experiment = next(e for e in EXPERIMENTS if e.name == ROW_OF_EXPERIMENT[row])
    piece = experiment.run(TINY, seed_of(0, experiment.name), lambda share: None)
    assert not next(found for found in piece.rows if found.id == row).held


# --- small parts -------------------------------------------------------------------------------------------------


def test_inequalities():
    checked = Inequalities()
    assert not checked.held  # nothing was checked
    checked.add([1.0, 2.0], [2.0, 2.0])
    assert checked.held
    assert checked.shares == [pytest.approx(1.0)]
    checked.add(math.nan, 1.0)
    assert checked.violations == 1
    checked.add(1.001, 1.0)
    assert (checked.violations, checked.cases) == (2, 4)
    assert "2 of 4 inequalities violated" in str(checked)


def test_means_and_frequencies_carry_their_errors():
    mean, error = mean_and_error([1.0, 2.0, 3.0])
    assert (mean, error) == (2.0, pytest.approx(1 / math.sqrt(3)))
    assert with_error([1.0, 2.0, 3.0]) == "2.00 +- 0.58"
    assert with_error([1.0]) == "1"
    assert frequency(0, 300) == "0 of 300 (below 0.01 with 95 % confidence)"
    assert frequency(50, 100) == "50 of 100 (0.5 +- 0.05)"


def test_gap_is_that_of_f_where_f_can_tell_and_quadratic_where_it_cannot():
    problem = simulate.gaussian(30, 0.5, rng=4)
    zhat = angsync.synchronize(problem.C).z
    for turn in (0.3, 1e-7):
        z = zhat * np.exp(1j * turn * np.cos(np.arange(30.0)))
        gap, rounding = objective_gap(problem.C, z * np.exp(0.7j), zhat)
        if turn > 0.1:
            assert gap == pytest.approx(objective.objective(problem.C, zhat) - objective.objective(problem.C, z))
        else:
            assert 0.5 < gap / (30 * turn**2 * 15) < 2  # f itself has an eps of 2e-13, the gap is 4e-12
        assert rounding < 1e-3 * gap


# --- the command -------------------------------------------------------------------------------------------------


@pytest.fixture
def command(monkeypatch, tmp_path):
    """The command on a few tiny experiments, with a page that says only that it was written."""
    page = types.ModuleType("angsync.study.reproduce.page")
    page.write_reproduction_page = lambda results, path: Path(path).write_text(str(len(results["rows"])))
    monkeypatch.setitem(sys.modules, "angsync.study.reproduce.page", page)

    def run(*options, experiments=EXPERIMENTS):
        tiny = functools.partial(run_experiments, size=TINY, experiments=experiments)
        monkeypatch.setattr(angsync.study.reproduce, "run_experiments", tiny)
        return CliRunner().invoke(app, ["reproduce", "--quick", "-o", str(tmp_path / "out"), *options])

    run.folder = tmp_path / "out"
    return run


def _store(folder, results, without=()):
    """An earlier run in this folder, less some experiments and their rows, which have to be run again."""
    folder.mkdir()
    rows = [row for row in results["rows"] if ROW_OF_EXPERIMENT.get(row["id"]) not in without]
    finished = {name: seconds for name, seconds in results["finished"].items() if name not in without}
    (folder / "results.json").write_text(json.dumps({**results, "rows": rows, "finished": finished}))


def test_command_prints_a_line_a_row_and_ends_with_0(command, results):
    _store(command.folder, results)
    done = command()
    assert done.exit_code == 0, done.output
    printed = done.stdout.splitlines()
    assert [line.split()[0] for line in printed[: len(CLAIMS)]] == list(CLAIMS)
    assert "every row held" in printed[-1]
    assert (command.folder / "report.html").read_text() == str(len(CLAIMS))
    again = command("--json")
    assert again.exit_code == 0
    content = json.loads(again.stdout)
    assert content["violated"] == []
    assert [row["id"] for row in content["rows"]] == list(CLAIMS)


def test_command_ends_with_1_when_a_planted_constant_violates_a_row(command, results, monkeypatch):
    _store(command.folder, results, without=("every iterate",))

    # nu of Theorem 1, a hundredth of what it is
    def wrong(n, alpha, op):
        mu, nu = theory_constants(n, alpha, op)
        return mu, nu / 100

    theory_constants = theory.estimation._l2_constants
    monkeypatch.setattr(theory.estimation, "_l2_constants", wrong)
    done = command()
    assert done.exit_code == 1
    rows = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines()[: len(CLAIMS)]}
    assert rows["T1"] == "VIOLATED"
    assert rows["P1"] == "held"
    assert "VIOLATED: T1" in done.stdout.splitlines()[-1]


def test_command_interrupted(command):
    recorder = Recorder()
    one, two = recorder.experiment("one", "M1"), recorder.experiment("two", "M2", _swallowed)
    done = command(experiments=(one, two))
    assert done.exit_code == 130
    assert list(json.loads((command.folder / "results.json").read_text())["finished"]) == ["one"]
    assert not (command.folder / "report.html").exists()


def test_command_where_it_cannot_write(command):
    command.folder.write_text("a file")
    done = command()
    assert done.exit_code == 2
    assert "cannot create the folder" in done.stderr


def test_command_limits_threads_before_numpy_is_loaded():
    """Threads on matrices of order 50 made the quick run three times as long on two cores."""
    code = (
        "import os, sys; os.environ.pop('OPENBLAS_NUM_THREADS', None)\n"
        "from angsync.cli.reproduce import _one_thread_a_product\n"
        "assert 'numpy' not in sys.modules\n"
        "_one_thread_a_product()\n"
        "assert 'numpy' not in sys.modules\n"
        "assert os.environ['OPENBLAS_NUM_THREADS'] == '1'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
