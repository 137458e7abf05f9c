"""Draws phase_retrieval.png: an image recovered from what masks of 2 x 2 pixels saw of it, at 40 dB.

python docs/pictures/phase_retrieval.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from angsync.applications import phase_retrieval


def main() -> None:
    rows, columns = np.mgrid[-1:1:64j, -1:1:64j]
    size = 0.3 + np.exp(-2 * (rows**2 + columns**2)) + 0.3 * (np.hypot(rows - 0.3, columns + 0.2) < 0.35)
    image = size * np.exp(1j * (4 * rows * columns + 2 * (np.hypot(rows + 0.4, columns - 0.4) < 0.3)))
    masks = phase_retrieval.local_masks(image.shape, 2)
    y = phase_retrieval.measure(image, masks)
    noise = 0.01 * np.sqrt(np.mean(y**2)) * np.random.default_rng(0).standard_normal(y.shape)
    result = phase_retrieval.recover(y + noise, masks)
    turn = np.vdot(result.signal, image)
    error = np.linalg.norm(result.signal * turn / abs(turn) - image) / np.linalg.norm(image)
    print(f"error {20 * np.log10(error):.1f} dB, {result.proof.headline}")
    result.plot().savefig(Path(__file__).with_suffix(".png"), dpi=80)


if __name__ == "__main__":
    main()
