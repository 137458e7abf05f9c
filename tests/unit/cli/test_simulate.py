"""``angsync simulate``."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import call

from angsync import read, simulate

CASES = {
    "gaussian": ("--n 7 --sigma 0.3", lambda: simulate.gaussian(7, 0.3, rng=4)),
    "outliers": ("--n 7 -p 0.7 --sigma 0.3", lambda: simulate.outliers(7, 0.7, sigma=0.3, rng=4)),
    "phase_noise": (
        "--n 7 --sigma 0.3 --law von_mises", lambda: simulate.phase_noise(7, 0.3, law="von_mises", rng=4)
    ),
    "erdos_renyi": (
        "--n 7 -p 0.6 --sigma 0.3 --law von_mises",
        lambda: simulate.erdos_renyi(7, 0.6, 0.3, law="von_mises", rng=4),
    ),
    "grid": ("--rows 2 --columns 5 --sigma 0.3", lambda: simulate.grid(2, 5, 0.3, rng=4)),
    "ring": ("--n 7 --sigma 0.3 --holonomy 1", lambda: simulate.ring(7, 0.3, holonomy=1.0, rng=4)),
}  # fmt: skip


@pytest.mark.parametrize("model", CASES)
@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_files_hold_the_simulated_problem(model, suffix):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    settings, make = CASES[model]
    problem, name = make(), f"problem.{suffix}"
    made = call("simulate", model, "-o", name, *settings.split(), "--seed", "4")
    assert (made.code, made.stdout) == (0, f"{model}: {problem.n} nodes, written to {name}\n")
    found, expected = read(name), problem.C
    if not isinstance(found, np.ndarray):
        found, expected = found.to_sparse().toarray(), problem.measurements.to_sparse().toarray()
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)
    if suffix == "npz":
        with np.load(name) as arrays:
            np.testing.assert_array_equal(arrays["truth"], np.angle(problem.z))


@pytest.mark.parametrize("model", CASES)
def test_simulate_without_settings_makes_100_nodes_that_solve(model):
    assert call("simulate", model, "-o", "problem.npz").code == 0
    answer = call("solve", "problem.npz", "--json")
    assert answer.object["n"] == 100


def test_npy_holds_the_dense_matrix_alone():
    call("simulate", "gaussian", "-o", "a.npy", "--n", "5", "--seed", "3")
    np.testing.assert_array_equal(np.load("a.npy"), simulate.gaussian(5, 0.1, rng=3).C)
