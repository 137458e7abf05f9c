"""Optima of whole pose graphs (skipped where the data are not at hand)."""

from __future__ import annotations

import pytest

from angsync import Verdict
from angsync.applications import pose_graph

pytestmark = pytest.mark.shared_data

# SE-Sync (Rosen, Carlone, Bandeira and Leonard, IJRR 2019, table 1) prints four digits.
PUBLISHED = [("intel", 52.35)]


def optimized(folder, name):
    result = pose_graph.optimize(pose_graph.read(folder / "pose-graphs" / f"{name}.g2o"))
    assert result.sync.certificate.verdict is Verdict.CERTIFIED
    assert result.sync.certificate.unique
    # what is proved about the phases is proved about the cost of the poses
    assert result.cost == pytest.approx(-result.sync.objective, rel=1e-9)
    return result


def test_toy_graph(shared_data):
    result = optimized(shared_data, "noisyToyGraph")
    # the same cost, minimized over all poses by scipy.optimize.least_squares to its last digits
    assert result.cost == pytest.approx(0.146945869178, rel=1e-10)
    assert result.initial_cost == pytest.approx(0.785018646616, rel=1e-10)


@pytest.mark.parametrize(("name", "printed"), PUBLISHED)
def test_published_optima(shared_data, name, printed):
    assert float(f"{optimized(shared_data, name).cost:.4g}") == printed


def test_manhattan_is_below_what_is_printed(shared_data):
    """Table 1 prints 6432 for this file; the optimum, proved here, is 6431.39.

    With its default settings SE-Sync stops when one step lowers the cost by less than 1e-5 of it (0.06 here), which may
    explain the last digit. The cost is a sum over the residuals of the poses: poses of cost 6431.391 are there.
    """
    result = optimized(shared_data, "manhattan")
    assert result.cost == pytest.approx(6431.391387, rel=1e-9)
    assert result.cost - result.sync.certificate.gap_bound > 6431.39
    assert result.cost == pytest.approx(6432, rel=1e-4)


@pytest.mark.parametrize(("name", "minimum"), [("MIT", 41.1633), ("CSAIL", 40.5551), ("intel", 45.0047)])
def test_minima_of_the_information_cost(shared_data, name, minimum):
    """What gtsam 4.3 reaches by Levenberg-Marquardt with the error of g2o, to six digits."""
    result = pose_graph.optimize(pose_graph.read(shared_data / "pose-graphs" / f"{name}.g2o"), cost="information")
    assert result.polish.converged
    assert float(f"{result.information_cost:.6g}") == minimum
