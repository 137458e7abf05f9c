"""Color scales and PNG images."""

import io

import numpy as np
import pytest

from angsync.report.colors import NO_VALUE, colors, png


def test_a_sequential_scale_grows_lighter_all_the_way():
    found = colors(np.linspace(0, 1, 50), 0.0, 1.0, cyclic=False).astype(float)
    light = found @ [0.2126, 0.7152, 0.0722]  # luminance of sRGB, not linearized
    assert (np.diff(light) > 0).all()


def test_a_cyclic_scale_ends_as_it_begins():
    ends = colors(np.array([-np.pi, np.pi]), -np.pi, np.pi, cyclic=True)
    assert ends[0].tolist() == ends[1].tolist()


def test_numbers_beyond_the_scale_and_no_numbers():
    found = colors(np.array([-5.0, 0.0, 1.0, 9.0, np.nan, np.inf]), 0.0, 1.0, cyclic=False)
    assert found[0].tolist() == found[1].tolist()
    assert found[2].tolist() == found[3].tolist()
    assert found[4].tolist() == found[5].tolist() == list(NO_VALUE)


def test_a_png_comes_back_pixel_by_pixel():
    image = pytest.importorskip("matplotlib.image")
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    back = image.imread(io.BytesIO(png(pixels)), format="png")
    assert (np.round(back[..., :3] * 255).astype(np.uint8) == pixels).all()


def in_lab(rgb):
    """CIELAB of sRGB colors (CIE 15:2004, white D65)."""
    x = np.asarray(rgb, dtype=float) / 255
    x = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
    y = x @ np.transpose(to_xyz) / [0.95047, 1, 1.08883]
    f = np.where(y > (6 / 29) ** 3, np.cbrt(y), y / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], axis=1)


def test_equal_differences_of_phase_look_about_equally_large():
    shades = in_lab(colors(np.linspace(-np.pi, np.pi, 37), -np.pi, np.pi, cyclic=True))
    steps = np.linalg.norm(np.diff(shades, axis=0), axis=1)
    assert steps.max() < 1.6 * steps.min()
    # read without colors it is lightest at 0 and darkest at half a turn, without a false edge on the way
    assert np.all(np.diff(shades[:19, 0]) > 0)
    assert np.all(np.diff(shades[18:, 0]) < 0)
