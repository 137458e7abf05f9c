"""Color scales, and numbers on a grid as a PNG image: no library is needed for either."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

# Stops of equal distance on the scale. Sequential: dark blue to light yellow, lighter all the way, so that it can be
# read without colors. Cyclic: light at 0, dark at half a turn, blue on one side and red on the other; in either half
# the stops are equally far apart in CIELAB, so that equal differences of phase look equally large.
_SEQUENTIAL = ((22, 30, 84), (34, 94, 146), (45, 148, 150), (122, 193, 120), (245, 231, 120))
_CYCLIC = (
    (43, 20, 51), (49, 43, 89), (47, 66, 130), (53, 92, 163), (82, 121, 178), (108, 150, 193), (139, 180, 207),
    (189, 206, 218), (236, 232, 230), (233, 199, 185), (225, 167, 141), (209, 131, 107), (184, 91, 85), (157, 51, 66),
    (118, 40, 61), (81, 30, 56), (43, 20, 51),
)  # fmt: skip
NO_VALUE = (150, 150, 150)
"""Where there is no finite number."""


def colors(values: NDArray[np.float64], low: float, high: float, *, cyclic: bool) -> NDArray[np.uint8]:
    """Red, green and blue of each number (..., 3); beyond the ends of the scale its last color."""
    stops = np.array(_CYCLIC if cyclic else _SEQUENTIAL, dtype=float)
    share = (np.asarray(values, dtype=float) - low) / (high - low)
    finite = np.isfinite(share)
    place = np.clip(np.where(finite, share, 0.0), 0.0, 1.0) * (len(stops) - 1)
    found = np.stack([np.interp(place, np.arange(len(stops)), stops[:, k]) for k in range(3)], axis=-1)
    found[~finite] = NO_VALUE
    return found.round().astype(np.uint8)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Pixels (rows, columns, 3), or 4 with opacity, as a PNG file (ISO/IEC 15948): signature, header, rows, end."""
    rows, columns, channels = pixels.shape
    lines = np.zeros((rows, 1 + channels * columns), dtype=np.uint8)  # each row begins with its filter: none
    lines[:, 1:] = pixels.reshape(rows, -1)
    header = struct.pack(">IIBBBBB", columns, rows, 8, {3: 2, 4: 6}[channels], 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
