"""S = Diag(s) - scale C with products from the narrow copy of C, in NumPy."""

from __future__ import annotations

from numpy.typing import NDArray

from angsync.kernels.lanczos import reference
from reference.narrow import narrow_apply


class ShiftedMatrix(reference.ShiftedMatrix):
    """Products come from the narrow copy where one is given."""

    def _image(self, v: NDArray) -> NDArray:
        return super()._image(v) if self.copy is None else narrow_apply(self.copy, v)
