"""What kind of problem it is."""

from __future__ import annotations

from angsync.pipeline.regime import is_slow


def test_gpm_that_goes_down_is_given_up():
    rule = is_slow(1e-10)
    assert rule([1.0, 2.0, 1.5], [0.1, 0.05, 0.04])
    assert not rule([1.0, 2.0, 2.5], [0.1, 0.05, 0.04])
    assert rule([float(k) for k in range(9)], [0.1 * 0.999**k for k in range(9)])
    assert not rule([float(k) for k in range(9)], [0.1 * 0.1**k for k in range(9)])
