r"""Models of the sky, as visibilities: functions of u and v in wavelengths that give complex numbers.

The sign is that of the Event Horizon data: :math:`V(u, v) = \int I(x, y)\, e^{2 \pi i (u x + v y)}`, x to the east and
y to the north. Files with the other sign see the sky turned by 180 degrees.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from types import FunctionType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, ShapeError, names_keywords
from angsync.io.failures import existing_file

Model = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.complex128]]

MICROARCSECOND = math.pi / 180 / 3600e6
"""In radians."""
_FWHM_IN_SIGMAS = 2 * math.sqrt(2 * math.log(2))


def _is_number(value: Any) -> bool:
    """Whether it is one real, finite number."""
    array = np.asarray(value)
    return array.ndim == 0 and array.dtype.kind in "iuf" and bool(np.isfinite(array))


@dataclass(frozen=True)
class Point:
    """A point in the middle of the field: the same visibility on every baseline."""

    flux: float = 1.0

    def __call__(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.complex128]:
        return np.full(np.shape(u), self.flux, dtype=np.complex128)

    def __str__(self) -> str:
        return "point source"


@dataclass(frozen=True)
class Ring:
    r"""A thin ring, brighter on one side, blurred by a normal law.

    Brightness :math:`1 + a \cos(\phi - \phi_0)` on a circle of radius R has the visibility
    :math:`J_0(k R) + i a \cos(\phi_k - \phi_0) J_1(k R)` at the spatial frequency k with direction :math:`\phi_k`
    (Jacobi-Anger expansion), and blur multiplies it by :math:`e^{-k^2 s^2 / 2}`.
    """

    diameter: float
    """Microarcseconds."""
    dipole: float = 0.0
    """The amplitude a: brightest over mean brightness, less one."""
    width: float = 0.0
    """Full width at half maximum of the blur, microarcseconds."""
    position_angle: float | None = None
    """Direction of the brightest place, degrees from north to east; None: found from closure phases by ``selfcal``."""
    flux: float = 1.0

    def __post_init__(self) -> None:
        sizes = {"diameter": self.diameter, "dipole": self.dipole, "width": self.width, "flux": self.flux}
        for name, value in sizes.items():
            if not (_is_number(value) and value >= 0):
                raise InputError(f"{name} of a ring must be a number of at least 0, but it is {value!r}.")
        if self.diameter == 0:
            raise InputError("diameter of a ring must be above 0, in microarcseconds. For a point give radio.point().")
        if self.dipole > 1:
            raise InputError(
                f"dipole of a ring must be at most 1, but it is {self.dipole!r}: its faint side would have a negative "
                "brightness."
            )
        if self.position_angle is not None and not _is_number(self.position_angle):
            raise InputError(f"position_angle must be in degrees, or None, but it is {self.position_angle!r}.")
        if self.diameter * MICROARCSECOND > 1e-3:
            raise InputError(
                f"the ring is {self.diameter:g} microarcseconds wide, which is no small field: give the diameter in "
                "microarcseconds."
            )

    @property
    def is_turned(self) -> bool:
        """Whether the direction of the bright side is known, or does not matter."""
        return self.position_angle is not None or self.dipole == 0

    def __call__(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.complex128]:
        if not self.is_turned:
            raise InputError(
                "the ring has no position_angle: give it in degrees, or let selfcal find it from the closure phases."
            )
        even, east, north = self.parts(u, v)
        angle = math.radians(self.position_angle or 0.0)
        return even + 1j * (math.sin(angle) * east + math.cos(angle) * north)

    def parts(self, u: ArrayLike, v: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """What does not depend on the position angle, and what its sine and its cosine times i are multiplied by."""
        from scipy.special import j0, j1

        u, v = np.asarray(u, dtype=float), np.asarray(v, dtype=float)
        length = np.hypot(u, v)
        k = 2 * math.pi * MICROARCSECOND * length
        blur = self.flux * np.exp(-0.5 * (k * self.width / _FWHM_IN_SIGMAS) ** 2)
        odd = self.dipole * j1(k * self.diameter / 2) * blur / np.where(length > 0, length, 1)
        return j0(k * self.diameter / 2) * blur, odd * u, odd * v

    def turned(self, position_angle: float) -> Ring:
        """The same ring with its bright side in this direction."""
        return replace(self, position_angle=float(position_angle))

    def __str__(self) -> str:
        text = f"ring of {self.diameter:g} microarcseconds"
        if self.dipole:
            text += f", dipole {self.dipole:g}"
        if self.width:
            text += f", width {self.width:g}"
        if self.dipole and self.position_angle is not None:
            text += f", bright side at {self.position_angle:.1f} degrees"
        return text


@dataclass(frozen=True, eq=False)
class Image:
    """Brightness on a grid, north up and east to the left; every pixel is a point in its middle."""

    pixels: NDArray[np.float64] = field(repr=False)
    pixel_size: float
    """Microarcseconds."""

    def __post_init__(self) -> None:
        if np.iscomplexobj(self.pixels):
            raise InputError("the pixels of an image must be real numbers, but they are complex. Give the brightness.")
        try:
            pixels = np.array(self.pixels, dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError("the pixels of an image must be real numbers.") from None
        if pixels.ndim != 2 or pixels.size == 0:
            raise ShapeError(f"an image has rows and columns, but this one has the shape {pixels.shape}.")
        if not np.isfinite(pixels).all():
            row, column = np.argwhere(~np.isfinite(pixels))[0]
            raise InputError(f"pixel [{row}, {column}] of the image is {pixels[row, column]}. Set such pixels to 0.")
        if not pixels.any():
            raise InputError("every pixel of the image is 0: there is nothing to compare visibilities with.")
        if not (_is_number(self.pixel_size) and self.pixel_size > 0):
            raise InputError(f"pixel_size must be positive, in microarcseconds, but it is {self.pixel_size!r}.")
        pixels.flags.writeable = False
        object.__setattr__(self, "pixels", pixels)

    def __call__(self, u: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.complex128]:
        rows, columns = self.pixels.shape
        size = 2 * math.pi * MICROARCSECOND * self.pixel_size
        east = size * ((columns - 1) / 2 - np.arange(columns))
        north = size * ((rows - 1) / 2 - np.arange(rows))
        along = np.exp(1j * np.multiply.outer(np.asarray(v, dtype=float), north)) @ self.pixels
        return np.einsum("kc,kc->k", along, np.exp(1j * np.multiply.outer(np.asarray(u, dtype=float), east)))

    def __str__(self) -> str:
        rows, columns = self.pixels.shape
        return f"image of {rows} x {columns} pixels of {self.pixel_size:g} microarcseconds"


def point(flux: float = 1.0) -> Point:
    """A point source in the middle of the field; only the sign of its flux in Jy matters for the phases.

    Examples
    --------
    >>> from angsync.applications import radio
    >>> radio.point()(np.array([0.0, 1e9]), np.zeros(2))  # visibilities at u, v in wavelengths
    array([1.+0.j, 1.+0.j])
    """
    if not (_is_number(flux) and flux > 0):
        raise InputError(f"flux of a point source must be positive, but it is {flux!r}.")
    return Point(float(flux))


@names_keywords
def ring(
    diameter: float, dipole: float = 0.0, width: float = 0.0, *, position_angle: float | None = None, flux: float = 1.0
) -> Ring:
    """A ring of this diameter in microarcseconds, brighter on one side by ``dipole``, blurred to this full ``width``.

    ``position_angle``: where it is brightest, degrees from north to east. Unless given, :func:`~angsync.applications.\
radio.selfcal` takes the angle at which the closure phases of the data, which no station changes, fit best.

    Examples
    --------
    >>> from angsync.applications import radio
    >>> ring = radio.ring(42, 0.5, 10, position_angle=180)
    >>> abs(ring(np.array([0.0, 4e9]), np.zeros(2))).round(2)
    array([1.  , 0.07])
    """
    return Ring(diameter, dipole, width, position_angle, flux)


@names_keywords
def image(pixels: ArrayLike | os.PathLike[str], pixel_size: float) -> Image:
    """Brightness on a grid (rows from north to south, columns from east to west), an array or the path of an npy file;
    ``pixel_size`` in microarcseconds.

    Examples
    --------
    >>> from angsync.applications import radio
    >>> pixels = np.zeros((5, 5))
    >>> pixels[2, 2] = 1.0
    >>> abs(radio.image(pixels, pixel_size=10)(np.array([0.0, 1e9]), np.zeros(2))).round(3)
    array([1., 1.])
    """
    if isinstance(pixels, (str, os.PathLike)):
        from angsync.io.arrays import load_array

        pixels = load_array(existing_file(pixels))
    return Image(np.asarray(pixels), pixel_size)


def name_of(model: Any) -> str:
    """The model in a few words."""
    if isinstance(model, (Point, Ring, Image)):
        return str(model)
    return f"model {model.__name__ if isinstance(model, FunctionType) else type(model).__name__}"
