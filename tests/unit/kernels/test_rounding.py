"""Constants of floating-point arithmetic."""

from __future__ import annotations

import pytest

from angsync.kernels.rounding import gamma


def test_gamma_is_highams():
    assert gamma(10) == pytest.approx(10 * 2.0**-53, rel=1e-12, abs=0)
