"""Stacks larger than the memory: blocks, progress, and what an interruption leaves."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from problems import gaussian_stack

from angsync import kernels
from angsync.batch import input as batch_input
from angsync.batch.result import BatchResult, BatchStatus
from angsync.batch.stack import synchronize_stack
from angsync.errors import ConvergenceWarning


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(batch_input, "BLOCK_BYTES", 1)  # blocks of 1024, the least


def test_progress_is_told_block_by_block(small_blocks):
    told = []
    result = synchronize_stack(
        gaussian_stack(3, 2500, sigma=0.3, dtype=np.complex64), callback=lambda *numbers: told.append(numbers)
    )
    assert told == [(1024, 2500), (2048, 2500), (2500, 2500)]
    assert result.converged.all()


def assert_stopped_after(result, whole, done, shape):
    """The first ``done`` are those of a whole run, to the bit; the others say that they were not reached."""
    reached = np.zeros(whole.status.size, dtype=bool)
    reached[:done] = True
    reached = reached.reshape(shape)
    assert (result.status[~reached] == BatchStatus.INTERRUPTED).all()
    assert not result.converged[~reached].any()
    assert not result.certified[~reached].any()
    for name in ("z", "objective", "residual", "gap_bound", "relative_gap", "lambda_2"):
        np.testing.assert_array_equal(getattr(result, name)[reached], getattr(whole, name)[reached])
        assert np.isnan(getattr(result, name)[~reached]).all()
    np.testing.assert_array_equal(result.iterations[~reached], 0)


def test_a_callback_can_end_it(small_blocks):
    C = gaussian_stack(3, 2400, sigma=0.3, dtype=np.complex64).reshape(40, 60, 3, 3)
    whole = synchronize_stack(C)
    with pytest.warns(ConvergenceWarning, match="352 of 2400 problems did not converge: 352 not reached"):
        result = synchronize_stack(C, callback=lambda done, total: done >= 2000)
    assert_stopped_after(result, whole, 2048, (40, 60))


def test_ctrl_c_keeps_what_is_done(small_blocks, monkeypatch, tmp_path):
    C = gaussian_stack(4, 3000, sigma=0.3, dtype=np.complex64)
    whole = synchronize_stack(C)
    solve, calls = kernels.solve_batch, []

    def solve_and_press(*arguments, **options):
        calls.append(1)
        solve(*arguments, **options)
        if len(calls) == 3:
            raise KeyboardInterrupt  # a signal is seen some steps later, how many depends on the version of Python

    monkeypatch.setattr(kernels, "solve_batch", solve_and_press)
    result = synchronize_stack(C, on_failure="ignore")
    assert_stopped_after(result, whole, 2048, (3000,))
    assert "INTERRUPTED 952" in repr(result)
    result.save(tmp_path / "part.npz")
    assert BatchResult.load(tmp_path / "part.npz").counts() == result.counts()


def test_the_rest_can_be_done_later(small_blocks):
    C = gaussian_stack(3, 2000, sigma=0.3, dtype=np.complex64)
    whole = synchronize_stack(C)
    part = synchronize_stack(C, on_failure="ignore", callback=lambda *_: True)
    rest = part.status == BatchStatus.INTERRUPTED
    np.testing.assert_array_equal(synchronize_stack(C[rest]).z, whole.z[rest])


@pytest.mark.skipif(not kernels.COMPILED, reason="NumPy needs a dozen copies of a block")
@pytest.mark.parametrize("layout", ["as it is", "every second", "other axes first"])
def test_a_memory_map_streams_in_bounded_memory(tmp_path, monkeypatch, layout):
    """What is allocated beyond the answer does not grow with the stack: a few blocks of it."""
    monkeypatch.setattr(batch_input, "BLOCK_BYTES", 1 << 18)
    n, count = 8, 24_000
    path = tmp_path / "stack.npy"
    mapped = np.lib.format.open_memmap(path, mode="w+", dtype=np.complex64, shape=(4, count // 4, n, n))
    for k in range(4):
        mapped[k] = gaussian_stack(n, count // 4, seed=k, sigma=0.3, dtype=np.complex64)
    mapped.flush()
    stack = np.load(path, mmap_mode="r")
    if layout == "every second":
        stack = stack[:, ::2]
    if layout == "other axes first":
        stack = stack.swapaxes(0, 1)
    synchronize_stack(stack[:1, :600])  # what is loaded once is loaded
    tracemalloc.start()
    result = synchronize_stack(stack)
    answer, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.converged.all()
    # a block of 1024 problems: 0.5 MB as it is copied, twice for index arrays and the certificates' own arrays
    assert peak - answer < 6 * 1024 * (n * n * 8 + 16 * 8)
    assert stack.nbytes > 1.5 * 6 * 1024 * (n * n * 8 + 16 * 8)
    spot = np.asarray(stack[2, 3:5])
    np.testing.assert_array_equal(result.z[2, 3:5], synchronize_stack(spot).z)
