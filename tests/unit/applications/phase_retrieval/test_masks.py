"""Local masks: what they measure, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_retrieval.masks import Masks, local_masks, measure
from angsync.errors import InputError, NotFiniteError, ShapeError


def complex_normal(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def test_an_intensity_is_the_square_of_the_product_with_the_mask_moved_to_its_shift():
    masks, x = local_masks(9, 3), complex_normal(9)
    assert masks.windows.shape == (5, 3)
    expected = [
        [abs(sum(np.conj(m[n]) * x[(at + n) % 9] for n in range(3))) ** 2 for at in range(9)] for m in masks.windows
    ]
    assert measure(x, masks) == pytest.approx(np.array(expected), rel=1e-13)


def test_masks_of_images_are_products_of_masks_of_signals():
    masks = local_masks((8, 9), (2, 3))
    rows, columns = local_masks(8, 2).windows, local_masks(9, 3).windows
    assert masks.windows.shape == (15, 2, 3)
    assert masks.windows[7] == pytest.approx(np.outer(rows[1], columns[2]))
    x = complex_normal((8, 9))
    window = np.array([[x[(4 + a) % 8, (8 + b) % 9] for b in range(3)] for a in range(2)])
    assert measure(x, masks)[7, 4, 8] == pytest.approx(abs(np.vdot(masks.windows[7], window)) ** 2)


def test_shifts_choose_columns_of_what_all_shifts_see():
    x = complex_normal(10)
    every, some = local_masks(10, 3), local_masks(10, 3, shifts=[7, 2, -1])
    assert measure(x, some) == pytest.approx(measure(x, every)[:, [7, 2, 9]])


def test_an_array_of_windows_and_masks_as_long_as_the_signal_are_taken():
    x, masks = complex_normal(10), local_masks(10, 3)
    long = np.zeros((5, 10), dtype=complex)
    long[:, :3] = masks.windows
    assert np.array_equal(measure(x, long), measure(x, masks))
    assert Masks(long, (10,)).band == (3,)


def test_only_offsets_that_some_mask_sees_are_unknown():
    windows = np.array([[1, 0, 1], [1, 0, 1j]])  # sees entries 0 and 2 apart, never neighbors
    assert Masks(windows, (9,)).offsets == [(0,), (2,)]


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: local_masks(64, 1), InputError, "at least 2"),
        (lambda: local_masks(5, 4), InputError, "not local on 5 entries"),
        (lambda: local_masks(64.5, 3), InputError, "whole number"),
        (lambda: local_masks((8, 8), (2, 2, 2)), ShapeError, "band has 3 numbers"),
        (lambda: Masks(np.zeros((3, 2)), (9,)), InputError, "all masks are zero"),
        (lambda: Masks(np.ones((3, 2, 2)), (9,)), ShapeError, "masks have 3 axes"),
        (lambda: Masks(np.array([["a", "b"]]), (9,)), InputError, "must be numbers"),
        (lambda: Masks(np.array([[1, np.nan]]), (9,)), NotFiniteError, r"entry \(0, 1\)"),
        (lambda: local_masks(9, 2, shifts=[0.5, 1]), InputError, "whole numbers"),
        (lambda: local_masks(9, 2, shifts=[1, 10]), InputError, r"shift \(1,\) is there twice"),
        (lambda: local_masks((9, 9), 2, shifts=[1, 2]), ShapeError, r"\(S, 2\)"),
        (lambda: measure(np.ones(8), local_masks(9, 2)), ShapeError, "masks are for"),
        (lambda: measure(np.array([1, np.inf, 0]), local_masks(3, 2)), NotFiniteError, r"entry \(1,\) is inf"),
        (lambda: measure(np.empty(0), local_masks(9, 2)), ShapeError, "must not be empty"),
    ],
)
def test_wrong_masks_and_signals_get_one_message(call, error, words):
    with pytest.raises(error, match=words):
        call()
