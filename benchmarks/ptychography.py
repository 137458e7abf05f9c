"""Ptychography for the benchmark: our own short ePIE (Maiden and Rodenburg, Ultramicroscopy 109, 2009)."""

from __future__ import annotations

import bz2
import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Scan:
    """Diffraction patterns (as magnitudes, zero frequency first), their corners in whole pixels, and a first probe."""

    magnitudes: NDArray[np.float32]
    corners: NDArray[np.int64]
    probe: NDArray[np.complex64]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(int(x) for x in self.corners.max(axis=0) + self.magnitudes.shape[1])

    def part(self, chosen: NDArray) -> tuple[Scan, NDArray[np.int64]]:
        """Some patterns, with corners counted from the place that is returned."""
        corner = self.corners[chosen].min(axis=0)
        return Scan(self.magnitudes[chosen], self.corners[chosen] - corner, self.probe), corner


def siemens_star() -> Scan | None:
    """The shared data set; None where ANGSYNC_DATA does not lead to it."""
    path = Path(os.environ.get("ANGSYNC_DATA", "")) / "ptychography" / "siemens-star-small.npz.bz2"
    if not path.is_file():
        return None
    with np.load(io.BytesIO(bz2.decompress(path.read_bytes()))) as kept:
        magnitudes = np.sqrt(kept["data"][0].astype(np.float32))
        corners = np.round(kept["scan"][0]).astype(np.int64)
        probe = kept["probe"].reshape(magnitudes.shape[1:]).astype(np.complex64)
    # the probe is scaled to the energy of a pattern (Parseval: the transform has norm side)
    energy = np.mean(np.sum(magnitudes.astype(float) ** 2, axis=(1, 2))) / probe.size
    probe *= np.float32(np.sqrt(energy / np.sum(np.abs(probe) ** 2)))
    return Scan(magnitudes, corners - corners.min(axis=0), probe)


def epie(
    scan: Scan, iterations: int, *, probe: NDArray | None = None, refine: bool = True, seed: int = 0
) -> tuple[NDArray[np.complex64], NDArray[np.complex64]]:
    """Object and probe; the probe stays as it is unless ``refine``, which begins in the third iteration."""
    rng = np.random.default_rng(seed)
    side = scan.magnitudes.shape[1]
    image = np.ones(scan.shape, dtype=np.complex64)
    probe = (scan.probe if probe is None else probe).astype(np.complex64)
    for step in range(iterations):
        for k in rng.permutation(len(scan.magnitudes)):
            row, column = scan.corners[k]
            view = image[row : row + side, column : column + side]
            before = view.copy()
            wave = probe * before
            seen = np.fft.fft2(wave)
            seen *= scan.magnitudes[k] / np.maximum(np.abs(seen), 1e-6)
            change = np.fft.ifft2(seen).astype(np.complex64) - wave
            view += np.conj(probe) * change / np.max(np.abs(probe)) ** 2
            if refine and step >= 2:
                probe = probe + np.conj(before) * change / np.max(np.abs(before)) ** 2
    return image, probe


def illumination(scan: Scan, probe: NDArray) -> NDArray[np.float64]:
    """How much light every pixel got."""
    side = scan.magnitudes.shape[1]
    light = np.zeros(scan.shape)
    for row, column in scan.corners:
        light[row : row + side, column : column + side] += np.abs(probe) ** 2
    return light


def data_error(scan: Scan, image: NDArray, probe: NDArray) -> float:
    """Sum of squares of the differences of magnitudes, by the sum of the intensities."""
    side = scan.magnitudes.shape[1]
    off = 0.0
    for magnitude, (row, column) in zip(scan.magnitudes, scan.corners, strict=True):
        seen = np.abs(np.fft.fft2(probe * image[row : row + side, column : column + side]))
        off += float(np.sum((seen - magnitude) ** 2))
    return off / float(np.sum(scan.magnitudes.astype(float) ** 2))


def tiles(scan: Scan, across: int, overlap: float) -> list[NDArray[np.int64]]:
    """Patterns of across x across tiles, each reaching ``overlap`` pixels into its neighbors."""
    ends = [np.linspace(0, scan.corners[:, axis].max(), across + 1) for axis in (0, 1)]
    chosen = []
    for a in range(across):
        for b in range(across):
            inside = np.ones(len(scan.corners), dtype=bool)
            for axis, k in ((0, a), (1, b)):
                at = scan.corners[:, axis]
                inside &= (at >= ends[axis][k] - overlap) & (at <= ends[axis][k + 1] + overlap)
            chosen.append(np.flatnonzero(inside))
    return chosen
