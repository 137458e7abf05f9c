"""What the batch kernels write beside the phases, where they write it, and what they leave to a second look."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from reference import batch

from angsync.batch import input as batch_input
from angsync.batch.result import BatchStatus
from angsync.batch.stack import synchronize_stack
from angsync.errors import NotHermitianError
from angsync.kernels.batch import reference as batch_reference
from angsync.kernels.batch.numbers import FIELDS, MAX_ORDER, BatchNumbers, chirp
from angsync.simulate import gaussian

_SPEC = importlib.util.spec_from_file_location(
    "benchmark_matrices", Path(__file__).resolve().parents[4] / "benchmarks" / "matrices.py"
)
matrices = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(matrices)


def stack(n, count, level, seed=0):
    """C = z z^H + level sqrt(n) W; from 0.5 on, some problems need Newton steps and leave their group."""
    return np.stack([gaussian(n, level * np.sqrt(n), rng=seed + k).C for k in range(count)]).astype(np.complex64)


def solved(solve, C, **changes):
    return batch.solved(solve, C, **({"max_iterations": 60, "certify": False, "tolerance": 1e-5} | changes))


def test_numbers_are_written_where_they_stay(batch_solver):
    C = stack(9, 37, 0.5)
    C[11] = np.nan
    numbers = BatchNumbers.of(2 * len(C)).part(slice(20, 20 + len(C)))
    z, fields = np.empty((37, 9), C.dtype), np.zeros((len(FIELDS), 37))
    suspects = batch_solver(C, chirp(9).astype(complex), z, numbers, fields, batch.OPTIONS._replace(max_iterations=60))
    again = batch.solved(batch_solver, C, max_iterations=60)
    assert suspects == again.suspects == 0
    np.testing.assert_array_equal(z, again.z)
    for name, values in (numbers._asdict() | dict(zip(FIELDS, fields, strict=True))).items():
        np.testing.assert_array_equal(values, again.found[name], err_msg=name)
    assert (numbers.iterations.dtype, numbers.status.dtype) == (np.int32, np.int8)
    assert numbers.status[11] == BatchStatus.NOT_FINITE
    assert np.isnan(numbers.objective[11])


def test_a_residual_that_is_accepted_is_convergence(batch_solver):
    C = stack(9, 20, 0.2)
    C[3, 2, 1] = np.inf
    # after one step none is at 1e-12, in single precision none will ever be
    _, found, _ = solved(batch_solver, C, tolerance=1e-12, accepted=0.0, max_iterations=1)
    residual = found["residual"]
    middle = float(np.nanmedian(residual))
    _, found, _ = solved(batch_solver, C, tolerance=1e-12, accepted=middle, max_iterations=1)
    near = residual <= middle
    assert 0 < near.sum() < 19
    np.testing.assert_array_equal(found["status"] == BatchStatus.CONVERGED, near)
    assert found["status"][3] == BatchStatus.NOT_FINITE


def test_every_problem_that_is_not_hermitian_is_counted(batch_solver):
    """Wherever it stands, and whether it leaves its group for Newton steps or not."""
    C = stack(6, 35, 0.5)
    steps = solved(batch_solver, C).found["iterations"]
    assert steps.max() > steps.min() + 2
    for k in range(len(C)):
        wrong = C.copy()
        wrong[k, 4, 1] += 0.01 * np.abs(C[k]).max()
        assert solved(batch_solver, wrong).suspects == 1
    with pytest.raises(NotHermitianError, match=r"problem \(34,\)"):
        synchronize_stack(wrong)
    # most of what is allowed: looked at again, and let pass
    wrong = C.copy()
    wrong[7, 4, 1] *= 1 + 0.9j * np.sqrt(np.finfo(np.float32).eps)
    assert solved(batch_solver, wrong).suspects == 1
    synchronize_stack(wrong, on_failure="ignore")


def test_a_large_problem_that_is_not_finite_has_no_phases():
    C = stack(MAX_ORDER + 1, 2, 0.1)
    C[0, 3, 4] = np.nan
    result = synchronize_stack(C, on_failure="ignore")
    assert np.isnan(result.z[0]).all()
    assert np.isnan(result.objective[0])
    assert result.status.tolist() == [BatchStatus.NOT_FINITE, BatchStatus.CONVERGED]
    assert np.abs(np.abs(result.z[1]) - 1).max() < 1e-6


def test_blocks_are_larger_where_nothing_is_copied(monkeypatch):
    monkeypatch.setattr(batch_input, "BLOCK_BYTES", 1 << 20)
    C = np.broadcast_to(np.ones((8, 8), np.complex64), (9000, 8, 8))
    told: dict[str, list[int]] = {"as it is": [], "not contiguous": [], "weighted": []}
    for name, given, weights in (
        ("as it is", C.copy(), None),
        ("not contiguous", C, None),
        ("weighted", C.copy(), 1.0),
    ):
        synchronize_stack(
            given, weights=weights, certify=False, callback=lambda done, _, to=told[name]: to.append(done)
        )
    assert told == {
        "as it is": [8192, 9000],
        "not contiguous": [2048, 4096, 6144, 8192, 9000],
        "weighted": [2048, 4096, 6144, 8192, 9000],
    }


def test_a_shift_against_the_slowest_mode_saves_steps(batch_solver, monkeypatch):
    """Coherence matrices have one slow mode: power steps multiply the residual by about 0.2 without the shift."""
    C = matrices.coherence_stack(30, 64, "easy", 0)
    with_it = solved(batch_solver, C).found
    monkeypatch.setattr(batch_reference, "_SHIFT_SHARE", 0.0)
    without = solved(batch_reference.solve, C).found
    assert (with_it["status"] == BatchStatus.CONVERGED).all()
    # residuals of 1e-5 and rounding change f by some 1e-7
    np.testing.assert_allclose(with_it["objective"], without["objective"], rtol=2e-6)
    # 2.8 and 3.1 steps were seen; a step that rounding adds or takes away is one in 64
    assert with_it["iterations"].mean() < without["iterations"].mean() - 0.2
