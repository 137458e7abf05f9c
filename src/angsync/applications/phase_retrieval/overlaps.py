r"""What overlapping patches say about each other's phases.

Patches are :math:`a_p = z_p O + ` noise, with the variance :math:`\sigma^2 / w_p` at a pixel of weight :math:`w_p`. The
phases of largest likelihood, the image O eliminated, maximize :math:`z^H C z` with
:math:`C_{pq} = \sum u\, a_p \bar a_q`, :math:`u = w_p w_q / W`, W the sum of the weights of all patches that show the
pixel: so what k patches show counts k - 1 times, not once a pair. An angle of C has the information
:math:`2 |C_{pq}| / \sigma^2`, which is its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.errors import InputError, NotFiniteError, ShapeError

LARGEST_RATIO = 1.25
"""Sizes of patches may differ by this factor before they are scaled alike."""
LEAST_COHERENCE = 0.7
"""Below, patches differ by more than a phase and little noise: 1 / sqrt(2) is a signal as large as its error."""
_MOST_PIXELS = 1 << 30  # of the whole image: 16 GiB of complex numbers
_NOISIER, _GOOD_COHERENCE = 2.0, 0.9  # times the usual difference is more than noise, where coherence is not good
_FAR, _LEAST_ANGLE = 6.0, 0.1  # a residual beyond so many of its errors, and so many radians, contradicts the others
_LEAST_NOISE = 1e-12  # of the energy: patches that agree to rounding


@dataclass(frozen=True, eq=False)
class Patches:
    """Patches of one image, where each begins, and how sure every pixel is (0: not at all)."""

    images: tuple[NDArray[np.complex128], ...]
    corners: NDArray[np.int64]
    """(P, 2) rows and columns, counted from the corner of the whole."""
    weights: tuple[NDArray[np.float64], ...]
    origin: tuple[int, int]

    @property
    def shape(self) -> tuple[int, int]:
        """Of the whole image."""
        ends = self.corners + np.array([image.shape for image in self.images])
        return int(ends[:, 0].max()), int(ends[:, 1].max())

    def total_weight(self) -> NDArray[np.float64]:
        """Of all patches, at every pixel of the whole."""
        total = np.zeros(self.shape)
        for (row, column), weight in zip(self.corners, self.weights, strict=True):
            total[row : row + weight.shape[0], column : column + weight.shape[1]] += weight
        return total

    def scaled(self, factors: NDArray[np.float64]) -> Patches:
        """Every patch divided by its factor."""
        images = tuple(image / factor for image, factor in zip(self.images, factors, strict=True))
        return Patches(images, self.corners, self.weights, self.origin)

    def pairs(self) -> NDArray[np.int64]:
        """(m, 2): patches whose rectangles share pixels."""
        ends = self.corners + np.array([image.shape for image in self.images])
        share = np.ones((len(ends), len(ends)), dtype=bool)
        for axis in (0, 1):
            begin, end = self.corners[:, axis], ends[:, axis]
            share &= (begin[:, None] < end[None, :]) & (begin[None, :] < end[:, None])
        return np.argwhere(np.triu(share, 1))

    def common(self, p: int, q: int) -> tuple[tuple[slice, slice], tuple[slice, slice]]:
        """The shared rectangle, as seen from either patch."""
        low = np.maximum(self.corners[p], self.corners[q])
        high = np.minimum(self.corners[p] + self.images[p].shape, self.corners[q] + self.images[q].shape)
        first, second = (
            tuple(slice(int(a), int(b)) for a, b in zip(low - self.corners[k], high - self.corners[k], strict=True))
            for k in (p, q)
        )
        return first, second  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class Overlaps:
    """One entry a pair of patches with something to compare."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    angle: NDArray[np.float64]
    """Phase of the first patch against the second, in radians."""
    weight: NDArray[np.float64]
    """One over its variance, where the noise of pixels is independent."""
    coherence: NDArray[np.float64]
    """Of the two patches where they overlap: 1 where they differ by a phase only."""
    size_ratio: NDArray[np.float64]
    """Of the first patch by the second."""
    pixels: NDArray[np.float64]
    """That both patches show."""
    excess: NDArray[np.float64]
    """How much the two differ by after the best turn, as a power, by the usual one (1: as other overlaps)."""


def compare(patches: Patches) -> Overlaps:
    """Relative phases of all overlaps that show something."""
    total = patches.total_weight()
    found = []
    for p, q in patches.pairs():
        here, there = patches.common(int(p), int(q))
        a, b = patches.images[p][here], patches.images[q][there]
        sure, other = patches.weights[p][here], patches.weights[q][there]
        row, column = patches.corners[p]
        everybody = total[row : row + patches.images[p].shape[0], column : column + patches.images[p].shape[1]][here]
        both = (sure > 0) & (other > 0)
        share = np.where(both, 1 / np.where(both, everybody, 1.0), 0.0)
        u = share * sure * other
        S = complex(np.sum(u * a * np.conj(b)))
        energies = float(np.sum(u * np.abs(a) ** 2)), float(np.sum(u * np.abs(b) ** 2))
        if S == 0 or min(energies) == 0:
            continue
        # what the two differ by after the best turn, by what noise of variance 1 / weight would give
        noise = (sum(energies) - 2 * abs(S)) / float(np.sum(share * (sure + other)))
        gamma = min(abs(S) / np.sqrt(energies[0] * energies[1]), 1.0)
        power = sum(energies) / float(np.sum(share * (sure + other)))
        ratio, shown = np.sqrt(energies[0] / energies[1]), float(np.count_nonzero(both))
        found.append((int(p), int(q), np.angle(S), abs(S), gamma, ratio, noise, power, shown))
    if not found:
        return Overlaps(*(np.zeros(0, dtype=np.int64),) * 2, *(np.zeros(0),) * 6)
    columns = [np.array(column) for column in zip(*found, strict=True)]
    first, second, angle, size, coherence, ratios, noise_, power_, pixels = columns
    variance = max(float(np.median(noise_)), _LEAST_NOISE * float(np.median(power_)))
    return Overlaps(first, second, angle, 2 * size / variance, coherence, ratios, pixels, noise_ / variance)


def sizes_of(overlaps: Overlaps, count: int) -> NDArray[np.float64]:
    """By which factor each patch is larger than most of those that hang together with it; 1 where they are alike.

    Least squares of the logarithms of the ratios in the overlaps. A patch that is larger has larger noise too, which
    would be taken for that of all, and its pixels would outweigh the others.
    """
    import scipy.sparse
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import spsolve

    ratio = overlaps.size_ratio
    if not np.any(np.maximum(ratio, 1 / ratio) > LARGEST_RATIO):
        return np.ones(count)
    shape = (count, count)
    links = scipy.sparse.coo_matrix((overlaps.pixels, (overlaps.first, overlaps.second)), shape=shape).tocsr()
    links = links + links.T
    degree = np.asarray(links.sum(axis=1)).ravel()
    laplacian = scipy.sparse.diags(degree + 1e-9 * degree.max()) - links
    pull = overlaps.pixels * np.log(ratio)
    right = np.bincount(overlaps.first, pull, count) - np.bincount(overlaps.second, pull, count)
    logarithm = np.asarray(spsolve(laplacian.tocsc(), right))
    pieces = connected_components(links, directed=False)[1]
    for piece in range(int(pieces.max()) + 1):
        logarithm[pieces == piece] -= np.median(logarithm[pieces == piece])
    if np.abs(logarithm).max() <= np.log(LARGEST_RATIO):
        return np.ones(count)
    return np.asarray(np.exp(logarithm))


def doubtful_patches(
    overlaps: Overlaps, off: NDArray[np.float64], left_out: NDArray[np.bool_], loops: int
) -> tuple[int, ...]:
    """Patches that explain which overlaps disagree: the fewest, as far as taking the worst first finds them.

    An overlap disagrees where its two patches differ by more than noise after the best turn (low coherence), or where
    its angle misses the phases (``off``) by far more than its error; ``left_out``: what the phases were found without.
    """
    limit = np.maximum(_NOISIER, 1 + _FAR / np.sqrt(np.maximum(overlaps.pixels, 1)))
    wrong = (overlaps.coherence < _GOOD_COHERENCE) & (overlaps.excess > limit)
    if loops > 0:
        errors = np.abs(off) * np.sqrt(overlaps.weight)
        kept = errors[~left_out]
        usual = max(1.0, float(np.median(kept)) / 0.6745 * np.sqrt(kept.size / loops))
        wrong |= (errors > _FAR * usual) & (np.abs(off) > _LEAST_ANGLE) & ~left_out
    count = int(max(overlaps.first.max(), overlaps.second.max())) + 1
    every = np.bincount(np.concatenate([overlaps.first, overlaps.second]), minlength=count)
    found: list[int] = []
    while wrong.any():
        ends = np.concatenate([overlaps.first[wrong], overlaps.second[wrong]])
        many = np.bincount(ends, minlength=count)
        worst = int(np.argmax(many + many / np.maximum(every, 1)))
        found.append(worst)
        wrong &= (overlaps.first != worst) & (overlaps.second != worst)
    return tuple(sorted(found))


def checked_patches(patches: Sequence[ArrayLike], positions: ArrayLike, weights: Sequence[ArrayLike] | None) -> Patches:
    """Patches as arrays; raises :class:`InputError` where something does not fit."""
    if patches is None or isinstance(patches, (str, bytes)) or not np.iterable(patches):
        raise InputError(
            f"patches must be a sequence of images (rows, columns), but they are {type(patches).__name__}."
        )
    images = tuple(_image(patch, f"patch {k}") for k, patch in enumerate(patches))
    if len(images) < 2:
        raise InputError(f"{len(images)} patches cannot be stitched: at least two are needed.")
    try:
        corners = np.asarray(positions)
    except ValueError:
        raise ShapeError("positions must be one row and one column a patch, but their rows differ in length.") from None
    if corners.shape != (len(images), 2):
        raise ShapeError(
            f"positions have shape {corners.shape}, but ({len(images)}, 2) is needed: the row and the column of the "
            "first pixel of every patch."
        )
    if corners.dtype.kind == "f" and np.all(np.isfinite(corners)) and np.array_equal(corners, np.round(corners)):
        corners = corners.astype(np.int64)
    if corners.dtype.kind not in "iu":
        raise InputError("positions must be whole pixels. Reconstruct the patches on a common grid, or round them.")
    origin = corners.min(axis=0)
    if weights is None:
        sure = tuple(np.ones(image.shape) for image in images)
    else:
        if isinstance(weights, (str, bytes)) or not np.iterable(weights):
            raise InputError(f"weights must be one array a patch, but they are {weights!r}.")
        sure = tuple(_weight(one, f"weights of patch {k}") for k, one in enumerate(weights))
        if [one.shape for one in sure] != [image.shape for image in images]:
            raise ShapeError("weights must be one array a patch, of the shape of the patch.")
    checked = Patches(images, (corners - origin).astype(np.int64), sure, (int(origin[0]), int(origin[1])))
    rows, columns = checked.shape
    if rows * columns > _MOST_PIXELS:
        raise InputError(
            f"the patches span {rows:,} x {columns:,} pixels, more than an image can have here ({_MOST_PIXELS:,}). "
            "positions are in pixels, not in a unit of length: check them, or stitch parts."
        )
    return checked


def _image(patch: ArrayLike, name: str) -> NDArray[np.complex128]:
    try:
        image = np.asarray(patch)
    except ValueError:
        raise ShapeError(f"{name} must be an image (rows, columns), but its rows differ in length.") from None
    if image.dtype.kind not in "biufc":
        raise InputError(f"{name} must hold numbers, but holds {image.dtype}.")
    if image.ndim != 2 or image.size == 0:
        raise ShapeError(f"{name} has shape {image.shape}, but an image (rows, columns) is needed.")
    if not np.all(np.isfinite(image)):
        place = tuple(int(x) for x in np.argwhere(~np.isfinite(image))[0])
        raise NotFiniteError(f"{name} must be finite, but pixel {place} is {image[place]}. Give it 0 and weight 0.")
    return image.astype(np.complex128)


def _weight(weight: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        sure = np.asarray(weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be real numbers, one a pixel.") from None
    if not np.all(np.isfinite(sure) & (sure >= 0)):
        raise InputError(f"{name} must be finite and not negative.")
    return sure
