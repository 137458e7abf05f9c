"""Where the problems of a stack come from: stacks that are read block by block."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from stored import LIBRARIES, Slices, stored

import angsync as ang
from angsync.batch import input as batch_input


@pytest.fixture
def closing():
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def everything_is_large(monkeypatch):
    monkeypatch.setattr(batch_input, "LOADED_UP_TO_BYTES", 0)


def stack_of(*leading, n=6, dtype=np.complex64):
    rng = np.random.default_rng(0)
    z = np.exp(2j * np.pi * rng.random((*leading, n, 1)))
    noise = rng.standard_normal((*leading, n, n)) * 0.1
    C = z * z.conj().swapaxes(-1, -2) + noise + noise.swapaxes(-1, -2)
    return C.astype(dtype)


@pytest.mark.parametrize("name", LIBRARIES)
@pytest.mark.parametrize("large", [True, False])
def test_stacks_of_every_library_have_the_same_bits(name, large, tmp_path, closing, monkeypatch):
    monkeypatch.setattr(batch_input, "LOADED_UP_TO_BYTES", 0 if large else 1 << 30)
    stack = stack_of(5, 40)
    result = ang.batch.synchronize_stack(stored(name, stack, (2, 20, 6, 6), tmp_path, closing))
    expected = ang.synchronize(stack)
    assert type(result.z) is np.ndarray
    assert np.array_equal(result.z, expected.z)
    assert np.array_equal(result.gap_bound, expected.gap_bound)


@pytest.mark.usefixtures("everything_is_large")
def test_a_large_stack_is_read_once_and_never_as_a_whole(monkeypatch):
    monkeypatch.setattr(batch_input, "block_size", lambda n, dtype, in_place=False: 64)
    stack = stack_of(30, 40)
    data, done = Slices(stack, (3, 40, 6, 6)), []
    result = ang.batch.synchronize_stack(data, callback=lambda finished, total: done.append((finished, total)))
    assert data.entries == stack.size
    assert data.largest == 3 * 40 * 36
    assert done == [(120 * k, 1200) for k in range(1, 11)]
    assert np.array_equal(result.z, ang.synchronize(stack).z)


@pytest.mark.usefixtures("everything_is_large")
def test_weights_and_masks_of_a_stored_stack():
    stack, rng = stack_of(7, 5), np.random.default_rng(1)
    weights = rng.random(stack.shape).astype(np.float32)
    weights = weights + weights.swapaxes(-1, -2)
    mask = rng.random(stack.shape[:-1]) < 0.1
    expected = ang.batch.synchronize_stack(stack, weights=weights, mask=mask, on_failure="ignore")
    given = {"weights": Slices(weights), "mask": mask, "on_failure": "ignore"}
    result = ang.batch.synchronize_stack(Slices(stack), **given)
    assert np.array_equal(result.z, expected.z, equal_nan=True)


@pytest.mark.usefixtures("everything_is_large")
def test_problems_of_a_stored_stack_that_are_chosen_later_are_read_then():
    stack = stack_of(4, 5)
    result, expected = ang.synchronize(Slices(stack)), ang.synchronize(stack)
    assert np.array_equal(result.component_labels((2, 3)), expected.component_labels((2, 3)))
    assert np.array_equal(result[1].component_labels(), expected[1].component_labels())
