"""Whether neighboring samples are independent: oversampled images have fewer looks than samples, and error bars that
count samples are too narrow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError

_PATCH = 128  # rows and columns in the middle of the images that are looked at
_DATES = 5  # images that are looked at
_FARTHEST = 3  # lag in pixels up to which samples of one image are taken to be correlated
_FEWEST = 400  # samples from which a correlation is told from chance: it is then known to 0.05
_TEXTURE = 0.1  # variance of the texture from which it is said: 95 % intervals of independent looks then hold 93.8 %
_SURE = 3.0  # standard errors of that variance, from the scatter of the windows
_TOLD = 1.2  # samples for each look above which it is said: error bars are then too narrow by a tenth


def samples_per_look(images: NDArray[np.complex128], window: tuple[int, int]) -> float:
    r"""How many samples of a full window are one independent look, from the middle of the images.

    Of looks with correlations :math:`\rho`, the mean of a window has the variance of
    :math:`N / (1 + 2 \sum_k (1 - k/w) |\rho_k|^2)` independent ones along each axis.
    """
    factor = 1.0
    for axis, side in ((1, window[0]), (2, window[1])):
        factor *= 1 + 2 * sum(
            (1 - lag / side) * _squared_correlation(images, axis, lag)
            for lag in range(1, min(_FARTHEST, side - 1, images.shape[axis] - 1) + 1)
        )
    return factor


def _patch(data: Any) -> NDArray[np.complex128]:
    """Return a few images (dates, rows, columns) from the middle of the stack, with zeros where there is no data."""
    n, rows, columns = data.shape
    top, left = max(0, (rows - _PATCH) // 2), max(0, (columns - _PATCH) // 2)
    dates = sorted({round(k) for k in np.linspace(0, n - 1, min(n, _DATES))})
    patch = data[:, top : top + _PATCH, left : left + _PATCH]
    patch = np.asarray(np.ma.filled(patch, np.nan))
    fill = (patch == patch[:1]).all(axis=0)  # the same number at every date
    return np.where(np.isfinite(patch[dates]) & ~fill, patch[dates], 0).astype(np.complex128)


def _squared_correlation(images: NDArray[np.complex128], axis: int, lag: int) -> float:
    """Mean over the images of the squared correlation of samples so far apart, without what chance adds to it."""
    size = images.shape[axis]
    first = np.take(images, range(size - lag), axis)
    second = np.take(images, range(lag, size), axis)
    both = (first != 0) & (second != 0)
    found = []
    for x, y, told in zip(first, second, both, strict=True):
        count = np.count_nonzero(told)
        if count < _FEWEST:
            continue
        power = np.sum(np.abs(x[told]) ** 2) * np.sum(np.abs(y[told]) ** 2)
        found.append(max(0.0, float(np.abs(np.sum(x[told] * y[told].conj())) ** 2 / power) - 1 / count))
    return float(np.mean(found)) if found else 0.0


def in_words(data: Any, window: tuple[int, int]) -> tuple[str, str]:
    """Return a sentence if samples are not looks of their own, and one if there is texture; '' otherwise."""
    try:
        images = _patch(data)
    except InputError:
        return "", ""  # reading that part for its phases says what is wrong with it
    return _about_correlation(images, window), _about_texture(images, window)


def _about_correlation(images: NDArray[np.complex128], window: tuple[int, int]) -> str:
    factor = samples_per_look(images, window)
    if factor < _TOLD:
        return ""
    looks = window[0] * window[1] / factor
    return (
        f"neighboring samples are correlated: the {window[0] * window[1]} of a window are worth {looks:.3g} looks, "
        f"and error bars are too narrow by {np.sqrt(factor):.2g}. Pass looks={looks:.3g}."
    )


def _about_texture(images: NDArray[np.complex128], window: tuple[int, int]) -> str:
    r"""Return one sentence if intensities vary more within windows than homogeneous speckle does; else ''.

    The mean w of the intensities of a sample over dates, each by its mean in the window, has the variance c, the mean
    of all squared coherences, if speckle is Gaussian. Texture (a factor t of the intensity that all dates share) raises
    :math:`1 + c` by :math:`E t^2`, which is how many samples are worth one look.
    """
    n, rows, columns = images.shape
    samples, down, across = window[0] * window[1], rows // window[0], columns // window[1]
    images = images[:, : down * window[0], : across * window[1]]
    x = images.reshape(n, down, window[0], across, window[1]).transpose(1, 3, 0, 2, 4).reshape(-1, n, samples)
    x = x[(x != 0).all(axis=(1, 2))]
    if samples < 2 or len(x) < 2:
        return ""
    x = x / np.sqrt(np.mean(np.abs(x) ** 2, axis=2, keepdims=True))
    squares = np.abs(x @ x.conj().swapaxes(1, 2) / samples) ** 2
    c = (squares.mean(axis=(1, 2)) - 1 / samples) / (1 - 1 / samples)
    seen = np.var(np.mean(np.abs(x) ** 2, axis=1), axis=1) * (samples + c.mean()) / (samples - 1)
    more = (seen - c) / (1 + c.mean())
    factor = 1 + float(more.mean())
    if factor - 1 < max(_TEXTURE, _SURE * float(more.std()) / np.sqrt(len(x))):
        return ""
    return (
        f"intensities vary more within windows than those of homogeneous speckle (texture): the {samples} samples of a "
        f"window are worth about {samples / factor:.3g} looks, and error bars are too narrow by {np.sqrt(factor):.2g}. "
        f"Pass looks={samples / factor:.3g}, or fewer where neighbors are correlated too."
    )
