"""Losses: weights, slopes and efficiencies against their definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.integrate import quad

from angsync.pipeline.robust.losses import LOSSES


@pytest.mark.parametrize("name", LOSSES)
def test_the_weight_of_a_loss_is_its_slope_over_the_residual(name):
    loss, c = LOSSES[name], 0.7
    u = np.array([0.05, 0.3, 0.6, 0.69, 0.9, 2.0])
    step = 1e-6
    slope = (loss.cost(u + step, c) - loss.cost(u - step, c)) / (2 * step)
    # cost is rho / c^2 and the weight is 1 at u = 0, where rho = u^2: rho' = 2 u w
    np.testing.assert_allclose(slope, 2 * u * loss.weights(u, c) / c**2, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["adaptive", "geman_mcclure", "huber"])
def test_the_slopes_of_psi(name):
    loss, c, step = LOSSES[name], 0.7, 1e-6
    u = np.array([0.05, 0.3, 0.6, 0.9, 2.0])
    psi = [(u + side) * loss.weights(u + side, c) for side in (step, -step)]
    np.testing.assert_allclose((psi[0] - psi[1]) / (2 * step), loss.slopes(u, c), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", LOSSES)
def test_the_efficiency_of_a_loss_is_that_of_normal_noise(name):
    loss = LOSSES[name]

    def expected(function):
        # split where the weights have corners
        corners = [-12, -loss.width, loss.width, 12]
        parts = itertools.pairwise(corners)
        density = np.sqrt(0.5 / np.pi)
        return sum(quad(lambda u: function(u) * density * np.exp(-(u**2) / 2), a, b)[0] for a, b in parts)

    def psi(u):
        return u * float(loss.weights(np.array([abs(u)]), loss.width)[0])

    assert expected(lambda u: u * psi(u)) ** 2 / expected(lambda u: psi(u) ** 2) == pytest.approx(
        loss.efficiency, abs=2e-4
    )
