r"""Problems with known truth: the Gaussian model of the paper and the models that real data have.

Where ``sigma`` appears it means one of two things, and every function says which:

- :func:`gaussian`: the paper's model :math:`C = z z^H + \sigma W`, complex noise, :math:`E|W_{jl}|^2 = 1`.
  For small sigma its angles have the variance :math:`\sigma^2 / 2`.
- all others: the standard deviation, in radians, of the angle of an edge of weight 1; an edge of weight w has
  :math:`\sigma / \sqrt w`.

Every function takes ``rng`` (None, a seed or a NumPy generator) and ``truth`` (phases; uniform unless given).
The same seed gives the same noise with and without ``truth``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from angsync.simulate.names import LAWS, MODELS

if TYPE_CHECKING:
    from angsync.simulate.laws import von_mises_concentration
    from angsync.simulate.models import erdos_renyi, gaussian, grid, outliers, phase_noise, ring
    from angsync.simulate.names import Law
    from angsync.simulate.problem import Problem

_HOME = {
    **dict.fromkeys(MODELS, "models"),
    "Law": "names",
    "Problem": "problem",
    "Seed": "models",
    "von_mises_concentration": "laws",
}

__all__ = [
    "LAWS",
    "MODELS",
    "Law",
    "Problem",
    "erdos_renyi",
    "gaussian",
    "grid",
    "outliers",
    "phase_noise",
    "ring",
    "von_mises_concentration",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"angsync.simulate.{_HOME[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'angsync.simulate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
