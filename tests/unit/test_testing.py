"""The checks that are shipped for solvers of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import angsync as ang
from angsync.solvers.gpm import GPMState
from angsync.testing import check_solver


@dataclass(frozen=True)
class Leaves(ang.GPM):
    def step(self, operator, state):
        z = state.z * 1.01
        return GPMState(z, operator.apply(z))


@dataclass(frozen=True)
class StaleProduct(ang.GPM):
    def step(self, operator, state):
        new = super().step(operator, state)
        return GPMState(new.z, new.Cz * (1 + 1e-3))


@dataclass
class NotFrozen:
    alpha: float = 4.0

    def init(self, operator, z):
        return ang.GPM().init(operator, z)

    def step(self, operator, state):
        return ang.GPM().step(operator, state)


@dataclass(frozen=True)
class GaugeDependent(ang.GPM):
    def step(self, operator, state):
        new = super().step(operator, state)
        z = new.z * np.exp(0.1j * new.z.real)
        return GPMState(z, operator.apply(z))


@dataclass(frozen=True)
class NoStep:
    def init(self, operator, z):
        return GPMState(z, operator.apply(z))


@dataclass(frozen=True)
class PoorState:
    def init(self, operator, z):
        return SimpleNamespace(z=z, Cz=operator.apply(z))

    def step(self, operator, state):
        return state


@dataclass(frozen=True)
class ManyMeasures(GPMState):
    intermediate: tuple = ((1.0, 1.0, 1.0),) * 2


@dataclass(frozen=True)
class TooFar(ang.GPM):
    """Takes three steps at once, whatever it is limited to."""

    def step(self, operator, state):
        for _ in range(3):
            state = super().step(operator, state)
        return ManyMeasures(state.z, state.Cz)


@pytest.mark.parametrize(
    ("solver", "message"),
    [
        (Leaves(), "converge|left"),
        (StaleProduct(), "not the product"),
        (NotFrozen(), "frozen"),
        (GaugeDependent(), "converge|equivariant|objective"),
        (NoStep(), "init and step"),
        (PoorState(), "z, Cz and exhausted"),
        (TooFar(), "limited to"),
    ],
)
def test_the_shipped_check_can_fail(solver, message):
    with pytest.raises(AssertionError, match=message):
        check_solver(solver)


def test_the_monotone_check_can_fail():
    with pytest.raises(AssertionError, match="fall"):
        check_solver(ang.GPM(np.inf), monotone=True)


@dataclass(frozen=True)
class OneOfOnesOwn:
    """A solver that knows the protocol and nothing of this package."""

    shift: float = 10.0

    def init(self, operator, z):
        return SimpleNamespace(z=z, Cz=operator.apply(z), exhausted=False)

    def step(self, operator, state):
        w = state.Cz + self.shift * state.z
        return self.init(operator, w / np.abs(w))


def test_a_solver_that_only_follows_the_protocol_passes():
    check_solver(OneOfOnesOwn())
