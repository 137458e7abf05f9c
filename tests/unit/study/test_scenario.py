"""Simulated problems by name."""

from __future__ import annotations

import numpy as np
import pytest

from angsync import read, simulate
from angsync.errors import InputError, OutputError
from angsync.study.scenario import from_name, problem_path, write_problem

MODELS = ("gaussian", "phase_noise", "outliers", "erdos_renyi", "grid", "ring")


def same(C, D):
    C, D = (x.toarray() if hasattr(x, "toarray") else x for x in (C, D))
    np.testing.assert_array_equal(C, D)


def test_names_lead_to_the_models():
    given = {"n": 7, "sigma": 0.3}
    same(from_name("gaussian", given, rng=1).C, simulate.gaussian(7, 0.3, rng=1).C)
    same(from_name("outliers", given | {"probability": 0.7}, rng=1).C, simulate.outliers(7, 0.7, sigma=0.3, rng=1).C)
    law = {"law": "von_mises"}
    same(from_name("phase_noise", given | law, rng=1).C, simulate.phase_noise(7, 0.3, law="von_mises", rng=1).C)
    same(
        from_name("erdos_renyi", given | law | {"probability": 0.6}, rng=1).C,
        simulate.erdos_renyi(7, 0.6, 0.3, law="von_mises", rng=1).C,
    )
    same(from_name("grid", {"rows": 2, "columns": 5, "sigma": 0.3}, rng=1).C, simulate.grid(2, 5, 0.3, rng=1).C)
    same(from_name("ring", given | {"holonomy": 1.0}, rng=1).C, simulate.ring(7, 0.3, holonomy=1.0, rng=1).C)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_has_defaults_of_100_nodes(model):
    assert from_name(model, {}, rng=0).n == 100


@pytest.mark.parametrize(
    ("model", "setting"), [("grid", "n"), ("ring", "rows"), ("gaussian", "law"), ("phase_noise", "holonomy")]
)
def test_a_setting_of_another_model_is_refused(model, setting):
    with pytest.raises(InputError, match=f"{model} has no setting '{setting}'; its settings are .*sigma"):
        from_name(model, {setting: 5}, rng=0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_files_hold_the_problem(tmp_path, model, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    problem = from_name(model, {}, rng=3)
    path = problem_path(model, tmp_path / f"problem.{suffix}")
    write_problem(problem, path)
    back = read(path)
    C = problem.C
    if not isinstance(back, np.ndarray):
        C = problem.measurements.to_sparse().toarray()
        back = back.to_sparse().toarray()
    np.testing.assert_allclose(back, C, rtol=0, atol=1e-14)


def test_truth_is_in_the_npz_file(tmp_path):
    problem = from_name("gaussian", {"n": 5}, rng=3)
    write_problem(problem, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as arrays:
        np.testing.assert_array_equal(arrays["truth"], np.angle(problem.z))


def test_npy_holds_the_dense_matrix_alone(tmp_path):
    problem = from_name("gaussian", {"n": 5}, rng=3)
    write_problem(problem, problem_path("gaussian", tmp_path / "a.npy"))
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), problem.C)


@pytest.mark.parametrize(("model", "name"), [("gaussian", "a.mat"), ("ring", "a.npy"), ("ring", "no/a.csv")])
def test_a_path_that_cannot_be_written_is_found_first(tmp_path, model, name):
    with pytest.raises(OutputError, match=r"cannot write .*a\."):
        problem_path(model, tmp_path / name)
    assert list(tmp_path.iterdir()) == []
