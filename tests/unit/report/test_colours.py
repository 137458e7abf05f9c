"""Colour scales and PNG images."""

import io

import numpy as np
import pytest

from angsync.report.colours import NO_VALUE, colours, png


def test_a_sequential_scale_grows_lighter_all_the_way():
    found = colours(np.linspace(0, 1, 50), 0.0, 1.0, cyclic=False).astype(float)
    light = found @ [0.2126, 0.7152, 0.0722]  # luminance of sRGB, not linearised
    assert (np.diff(light) > 0).all()


def test_a_cyclic_scale_ends_as_it_begins():
    ends = colours(np.array([-np.pi, np.pi]), -np.pi, np.pi, cyclic=True)
    assert ends[0].tolist() == ends[1].tolist()


def test_numbers_beyond_the_scale_and_no_numbers():
    found = colours(np.array([-5.0, 0.0, 1.0, 9.0, np.nan, np.inf]), 0.0, 1.0, cyclic=False)
    assert found[0].tolist() == found[1].tolist()
    assert found[2].tolist() == found[3].tolist()
    assert found[4].tolist() == found[5].tolist() == list(NO_VALUE)


def test_a_png_comes_back_pixel_by_pixel():
    image = pytest.importorskip("matplotlib.image")
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    back = image.imread(io.BytesIO(png(pixels)), format="png")
    assert (np.round(back[..., :3] * 255).astype(np.uint8) == pixels).all()
