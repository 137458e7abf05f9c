"""Single patches that do not fit: conjugated, with a slope of phase, of another size; calls that cannot be meant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from angsync.applications.phase_retrieval import stitch
from angsync.errors import InputError

CORNERS = [(a, b) for a in (0, 10, 20) for b in (0, 10, 20)]


def nine(seed, noise=0.3):
    rng = np.random.default_rng(seed)
    image = rng.standard_normal((40, 40)) + 1j * rng.standard_normal((40, 40))
    turns = np.exp(1j * rng.uniform(-3, 3, 9))
    error = rng.standard_normal((2, 9, 16, 16))
    patches = [image[a : a + 16, b : b + 16] * z for (a, b), z in zip(CORNERS, turns, strict=True)]
    return [patch + noise * (x + 1j * y) for patch, x, y in zip(patches, *error, strict=True)], turns


@pytest.mark.parametrize("place", [0, 4, 7])
@pytest.mark.parametrize("change", [np.conj, lambda x: x * np.exp(0.15j * np.arange(16))])
def test_one_patch_that_differs_by_more_than_a_phase_is_named(place, change):
    for seed in range(4):
        patches, _ = nine(seed)
        patches[place] = change(patches[place])
        result = stitch(patches, CORNERS)
        assert result.doubtful == (place,)
        assert not result.is_proved
        assert f"Patch {place} does not fit" in str(result)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3, 0.6, 1.0])
def test_noise_alone_names_no_patch(noise):
    for seed in range(20):
        result = stitch(nine(seed, noise)[0], CORNERS)
        assert result.doubtful == ()
        assert result.scale is None


@pytest.mark.parametrize("factor", [2, 5, 30, 1000, 1e-3])
def test_error_bars_hold_with_a_patch_of_another_size(factor):
    hit = []
    for seed in range(30):
        patches, turns = nine(seed)
        patches[4] = factor * patches[4]
        result = stitch(patches, CORNERS)
        v = np.exp(1j * result.phase) * turns.conj()
        error = np.abs(np.angle(v * np.exp(-1j * np.angle(v.mean()))))
        hit.append(error < 1.96 * result.standard_error)
    # 270 phases at 95 %: 1.3 % a standard deviation
    assert 0.91 <= np.mean(hit) <= 0.99
    assert "differ in size" in str(result)
    assert "(patch 4)" in str(result)
    assert result.scale[4] == pytest.approx(factor, rel=0.1)
    assert np.nanmax(np.abs(result.image)) < 10


@pytest.mark.parametrize(
    ("arguments", "how", "words"),
    [
        ((None, None), {}, "patches must be"),
        ((nine(0)[0], CORNERS), {"weights": "a"}, "weights must be"),
        ((nine(0)[0], CORNERS), {"weights": ["a"] * 9}, "weights of patch 0 must be"),
        ((nine(0)[0], [(k * 10**6, k * 10**6) for k in range(9)]), {}, "the patches span"),
        ((nine(0)[0], [(0, 0)] * 8 + [(1,)]), {}, "positions must be"),
        (([[[1, 2], [3]]] * 2, [(0, 0)] * 2), {}, "patch 0 must be"),
    ],
)
def test_calls_that_cannot_be_meant_get_one_message(arguments, how, words):
    with pytest.raises(InputError, match=words):
        stitch(*arguments, **how)


def test_what_is_not_known_is_said_in_words():
    result = stitch(nine(0)[0], CORNERS)
    nothing = replace(
        result,
        standard_error=np.full(9, np.nan),
        residual=float("nan"),
        bad_overlaps=np.ones_like(result.bad_overlaps),
    )
    text = str(nothing)
    assert "nan" not in text
    assert "There are no error bars" in text
