"""Labels of edges: what they prove is checked, and wrong ones are drawn again."""

from __future__ import annotations

import numpy as np

import angsync as ang


def test_wrong_labels_are_seen_and_drawn_again(monkeypatch):
    # a generator whose first labels are all alike: edges that two others span look like bridges
    class Alike:
        calls = 0

        def __init__(self):
            self.rng = np.random.default_rng(5)

        def integers(self, low, high, size, **options):
            Alike.calls += 1
            if Alike.calls == 1:
                return np.full(size, 7, dtype=np.uint64)
            return self.rng.integers(low, high, size, **options)

    m = ang.simulate.grid(4, 5, 0.1, rng=0).measurements
    expected = ang.connectivity_of(m).cut_pairs.tolist()
    real = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Alike() if seed == 1 else real(seed))
    assert ang.connectivity_of(m).cut_pairs.tolist() == expected
    assert Alike.calls == 2
