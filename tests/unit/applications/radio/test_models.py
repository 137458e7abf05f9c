"""Models of the sky: their Fourier transforms, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.radio import image, point, ring
from angsync.applications.radio.models import MICROARCSECOND, name_of
from angsync.errors import InputError, ShapeError

RNG = np.random.default_rng(0)
U, V = RNG.uniform(-8e9, 8e9, (2, 40))


def summed(x, y, brightness):
    """The definition: the sum of brightness times exp(2 pi i (u x + v y)), x to the east, y to the north."""
    phase = 2 * np.pi * MICROARCSECOND * (np.multiply.outer(U, x) + np.multiply.outer(V, y))
    return np.exp(1j * phase) @ brightness


def test_a_point_is_the_same_everywhere():
    assert np.array_equal(point(0.6)(U, V), np.full(40, 0.6 + 0j))


@pytest.mark.parametrize("position_angle", [0.0, 90.0, 168.9])
def test_a_ring_is_the_transform_of_its_brightness(position_angle):
    angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)  # from north to east
    brightness = (1 + 0.7 * np.cos(angle - np.deg2rad(position_angle))) / angle.size
    expected = summed(21.0 * np.sin(angle), 21.0 * np.cos(angle), brightness)
    # a sum over equal steps of a periodic function is exact to the 400th Bessel function
    assert np.abs(ring(42, 0.7, position_angle=position_angle)(U, V) - expected).max() < 1e-12


def test_blur_multiplies_by_a_normal_law_of_that_width():
    k = 2 * np.pi * np.hypot(U, V) * MICROARCSECOND
    sigma = 10 / np.sqrt(8 * np.log(2))
    ratio = ring(42, 0.5, 10, position_angle=30)(U, V) / ring(42, 0.5, position_angle=30)(U, V)
    assert np.abs(ratio - np.exp(-((k * sigma) ** 2) / 2)).max() < 1e-12


def test_an_image_has_north_up_and_east_to_the_left():
    pixels = np.zeros((5, 7))
    pixels[0, 1], pixels[4, 6] = 2.0, 1.0  # two rows north and two columns east; two south and three west
    expected = summed(np.array([6.0, -9.0]), np.array([6.0, -6.0]), np.array([2.0, 1.0]))
    assert np.abs(image(pixels, 3.0)(U, V) - expected).max() < 1e-9


def test_an_image_of_a_file(tmp_path):
    np.save(tmp_path / "sky.npy", np.ones((3, 3)))
    assert image(tmp_path / "sky.npy", 1.0).pixels.sum() == 9
    assert "3 x 3 pixels" in name_of(image(tmp_path / "sky.npy", 1.0))


def test_a_ring_without_an_angle_says_so_when_it_is_asked():
    with pytest.raises(InputError, match="has no position_angle"):
        ring(42, 0.5, 10)(U, V)
    assert ring(42)(U, V).imag.max() == 0  # without a dipole there is none


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ring(-1), "diameter of a ring must be a number of at least 0"),
        (lambda: ring(42, np.nan), "dipole of a ring"),
        (lambda: ring(42, 0.5 + 0.5j), "dipole of a ring"),
        (lambda: ring(42, 0.5, position_angle=np.inf), "position_angle must be in degrees"),
        (lambda: ring(1e9), "no small field"),
        (lambda: point(0), "flux of a point source must be positive"),
        (lambda: image(np.zeros((2, 2)), 1), "every pixel of the image is 0"),
        (lambda: image([[1.0, np.nan]], 1), r"pixel \[0, 1\] of the image is nan"),
        (lambda: image([["a", "b"]], 1), "must be real numbers"),
        (lambda: image(np.ones((2, 2)), 0), "pixel_size must be positive"),
    ],
)
def test_a_model_that_cannot_be_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call()


def test_an_image_has_two_axes():
    with pytest.raises(ShapeError, match="rows and columns"):
        image(np.ones(3), 1)


def test_names_of_models():
    def my_sky(u, v):
        return u + 1j * v

    assert name_of(my_sky) == "model my_sky"
    assert name_of(ring(42, 0.5, 10, position_angle=90)) == (
        "ring of 42 microarcseconds, dipole 0.5, width 10, bright side at 90.0 degrees"
    )


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ring("a", 1, 1), "diameter of a ring must be a number"),
        (lambda: ring(42, 0.5, 10, position_angle="x"), "position_angle must be in degrees, or None, but it is 'x'"),
        (lambda: ring(0, 0.5, 10), r"diameter of a ring must be above 0.*radio\.point\(\)"),
        (lambda: ring(42, 5, 10), "dipole of a ring must be at most 1.*negative"),
        (lambda: image(np.ones((3, 3)), "a"), "pixel_size must be positive, in microarcseconds, but it is 'a'"),
        (lambda: image(np.ones((3, 3)) * 1j, 1), "the pixels of an image must be real numbers"),
        (lambda: point("a"), "flux of a point source must be positive, but it is 'a'"),
    ],
)
def test_what_is_no_number_or_no_source_is_named(make, words):
    with pytest.raises(InputError, match=words):
        make()
