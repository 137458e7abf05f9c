"""Products of neighbors from intensities, and refusals where the sampling is too sparse."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.phase_retrieval import band as module
from angsync.applications.phase_retrieval.band import partners, solve_band
from angsync.applications.phase_retrieval.masks import Masks, local_masks, measure
from angsync.errors import InputError


def signal(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def products(x, masks):
    return x.ravel() * np.conj(x.ravel()[partners(masks)])


@pytest.mark.parametrize(("shape", "band"), [(17, 3), ((7, 8), (2, 3))])
def test_products_are_found_with_every_shift(shape, band):
    masks = local_masks(shape, band)
    x = signal(masks.shape)
    found = solve_band(measure(x, masks), masks)
    assert found.values == pytest.approx(products(x, masks), abs=1e-12)
    # both ways, by frequency and by least squares, solve the same problem
    other = module._by_least_squares(measure(x, masks), masks)
    assert other.values == pytest.approx(found.values, abs=1e-9)
    assert other.determined.all()
    assert other.condition == pytest.approx(found.condition, rel=0.1)


def test_the_condition_is_that_of_the_dense_map():
    masks = local_masks(11, 2)
    A = module._equations(masks).toarray()
    singular = np.linalg.svd(A, compute_uv=False)
    assert solve_band(measure(signal(11), masks), masks).condition == pytest.approx(singular[0] / singular[-1])


def test_the_spread_is_that_of_noise():
    masks = local_masks(31, 3)
    band = solve_band(measure(signal(31), masks), masks)
    noise = np.random.default_rng(1).standard_normal((2000, 5, 31))
    found = np.sqrt(np.mean(band.solve(noise).imag[:, 1:] ** 2, axis=(0, 2)))
    # 62,000 correlated values: at least 2000 free ones, so 1.6 % a standard deviation of the rms
    assert found == pytest.approx(band.spread[1:], rel=0.06)


def test_a_lost_intensity_costs_the_products_that_hang_on_it_and_no_others():
    masks = local_masks(20, 3)
    x = signal(20)
    extra = Masks(np.concatenate([masks.windows, signal((4, 3), 3)]), (20,))
    data = measure(x, extra)
    data[2, 5] = data[7, 11] = np.nan
    found = solve_band(data, extra)
    assert found.determined.all()
    assert found.values == pytest.approx(products(x, extra), abs=1e-8)


def test_every_second_shift_does_with_enough_masks():
    rng_windows = signal((9, 3), 4)
    masks = Masks(rng_windows, (20,), np.arange(0, 20, 2))
    x = signal(20)
    found = solve_band(measure(x, masks), masks)
    assert found.determined[0].all()
    assert not found.determined.all()  # entries 1 and 3 are in no common window
    there = found.determined
    assert found.values[there] == pytest.approx(products(x, masks)[there], abs=1e-8)


def test_too_few_masks_are_refused_with_the_number_that_is_missing():
    with pytest.raises(InputError, match="2 more masks are needed"):
        solve_band(np.ones((3, 16)), Masks(local_masks(16, 3).windows[:3], (16,)))


def test_masks_that_do_not_differ_enough_are_refused_with_the_offsets_not_seen():
    real = Masks(np.abs(signal((6, 3), 2)), (16,))
    with pytest.raises(InputError, match=r"products of entries 1, 2 apart .* Real masks cannot tell x from"):
        solve_band(np.ones((6, 16)), real)
    same = Masks(np.repeat(local_masks(16, 2).windows[:1], 3, axis=0), (16,))
    with pytest.raises(InputError, match=r"products of entries 0, 1 apart \(at 9 of 9 frequencies"):
        solve_band(np.ones((3, 16)), same)


def test_missing_shifts_are_named():
    masks = local_masks(16, 3)
    data = measure(signal(16), masks)
    data[:, 4:9] = np.nan
    with pytest.raises(InputError, match=r"sizes of \d+ of 16 entries are not determined .* 4, 5, 6, 7, 8"):
        solve_band(data, masks)
    sparse = local_masks(16, 3, shifts=[s for s in range(16) if s not in (4, 5)])
    with pytest.raises(InputError, match=r"Shifts near them that were not measured: 4, 5\."):
        solve_band(measure(signal(16), sparse), sparse)
    apart = Masks(signal((9, 3), 4), (20,), np.arange(0, 18, 3))
    with pytest.raises(InputError, match="too sparse"):
        solve_band(measure(signal(20), apart), apart)
