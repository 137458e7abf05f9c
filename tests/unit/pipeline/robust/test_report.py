"""What a robust fit says of every measurement: numbers, words, files."""

from __future__ import annotations

import numpy as np
import pytest
from problems import corrupted

import angsync as ang


def test_the_report_and_the_words():
    problem = corrupted(sigma=0.05)
    result = ang.synchronize(problem.measurements, solver=ang.Robust())
    report = result.robust
    count = len(problem.measurements)
    assert report.weights.shape == report.corruption.shape == report.distrusted.shape == (count,)
    assert ((report.weights >= 0) & (report.weights <= 1)).all()
    assert ((report.corruption >= 0) & (report.corruption <= 1)).all()
    assert np.array_equal(report.distrusted, report.corruption > 0.5)
    assert report.trusted_share == pytest.approx(1 - report.distrusted.mean())
    assert (report.weights[report.distrusted] == 0).all()
    assert "final weighted least-squares problem" in result.message
    assert "final weighted problem" in result.method
    (line,) = [line for line in str(result).splitlines() if line.startswith("  robust")]
    assert f"{int(report.distrusted.sum())} of {count} measurements distrusted" in line
    assert "robust" not in str(ang.synchronize(problem.measurements))


def test_the_report_is_saved_with_the_result(tmp_path):
    result = ang.synchronize(corrupted(n=15).measurements, solver=ang.Robust())
    result.save(tmp_path / "result.npz")
    loaded = ang.load_result(tmp_path / "result.npz").robust
    assert np.array_equal(loaded.weights, result.robust.weights)
    assert np.array_equal(loaded.distrusted, result.robust.distrusted)
    assert loaded.distrusted.dtype == bool
    assert str(loaded) == str(result.robust)


def test_anchors_and_priors_keep_the_order_of_the_report():
    problem = corrupted(n=30, sigma=0.02)
    m = problem.measurements
    known = {node: float(np.angle(problem.z[node])) for node in (int(m.i[0]), int(m.j[0]))}
    vague = {node: (float(np.angle(problem.z[node])), 4.0) for node in range(30) if node not in known}
    result = ang.synchronize(m, solver=ang.Robust(), anchors=known, priors=vague)
    assert result.robust.distrusted.size == len(m) == result.edge_residuals().standardized.size
    assert not result.robust.distrusted[0]  # between two anchors: nothing depends on it
    assert np.mean(result.robust.distrusted[1:] == problem.outlier[1:]) > 0.97
    assert np.abs(np.angle(result.z * problem.z.conj())).max() < 0.05
