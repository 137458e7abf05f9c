"""Known optima of real data sets (skipped where the data are not at hand)."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync import Verdict

pytestmark = pytest.mark.shared_data

POSE_GRAPHS = [
    ("noisyToyGraph", "unit", 0.0008211174538),
    ("MIT", "unit", 0.08220601864),
    ("MIT", "kappa", 19.40546023),
]
LARGER_POSE_GRAPHS = [
    ("intel", "unit", 0.01203576954),
    ("intel", "kappa", 1.819822985),
    ("manhattan", "unit", 1.020561823),
    ("manhattan", "kappa", 3097.54971),
]
PATCHES = [
    ("pacm-eta0-gamma-seed2", 47166.000000),
    ("pacm-eta5-gamma-seed2", 46357.969817),
    ("pacm-eta5-block_normal6-seed11", 46474.260927),
    ("pacm-eta15-gamma-seed11", 40710.447216),
    ("pacm-eta15-multi_normal1-seed9", 42610.951442),
    ("pacm-eta25-gamma-seed2", 33469.280505),
    ("pacm-eta25-multi_normal0-seed9", 32689.345257),
]


def check_pose_graph(folder, name, weights, optimum):
    data = ang.read(folder / "pose-graphs" / f"{name}.g2o", weights=weights)
    result = ang.synchronize(data)
    # F = sum w (2 - 2 cos residual), summed over residuals because 2 sum w - f would cancel
    residual = data.angle - np.angle(result.z[data.i] * result.z[data.j].conj())
    cost = float(np.sum(data.weight * 4 * np.sin(residual / 2) ** 2))
    assert cost == pytest.approx(optimum, rel=2e-9)  # ten printed digits
    assert result.certificate.verdict is Verdict.CERTIFIED
    assert result.certificate.unique


@pytest.mark.parametrize(("name", "weights", "optimum"), POSE_GRAPHS)
def test_pose_graph_rotations(shared_data, name, weights, optimum):
    check_pose_graph(shared_data, name, weights, optimum)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "weights", "optimum"), LARGER_POSE_GRAPHS)
def test_larger_pose_graph_rotations(shared_data, name, weights, optimum):
    check_pose_graph(shared_data, name, weights, optimum)


@pytest.mark.parametrize(("name", "optimum"), PATCHES)
def test_sensor_patches(shared_data, name, optimum):
    result = ang.synchronize(ang.read(shared_data / "sensor-patches" / f"{name}.npz"))
    assert result.objective == pytest.approx(optimum, abs=1e-6)
    assert result.certificate.verdict is Verdict.CERTIFIED
