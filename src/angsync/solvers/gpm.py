"""The generalized power method, as the paper writes it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import NDArray

from angsync.circle import normalize
from angsync.errors import InputError, names_init_keywords
from angsync.problem.operators import HermitianOperator
from angsync.solvers.base import SolverBase, StateBase
from angsync.solvers.memory import MemoryBudget


@dataclass(frozen=True)
class GPMState(StateBase):
    """An iterate and its product with C."""

    z: NDArray
    Cz: NDArray
    exhausted: bool = False


@names_init_keywords
@dataclass(frozen=True)
class GPM(SolverBase):
    r"""Generalized power method, Algorithm 1 of the paper, literally.

    .. math:: w^k = (I + \tfrac{\alpha}{n} C) z^k, \qquad z^{k+1} = w^k / |w^k|

    ``alpha = inf`` means :math:`z^{k+1} = C z^k / |C z^k|`. A zero entry of w keeps its old phase (the
    paper's 0 would leave :math:`T^n`). C is taken as it is, so the result of a finite alpha depends on the
    scale of C and on its diagonal; n is the number of nodes of the connected component being solved.

    The objective is sure to rise when :math:`\alpha < n / \|\Delta\|_{op}`, more generally whenever
    :math:`C + \tfrac{n}{\alpha} I` is positive semidefinite.

    Needs three n-vectors: z, Cz and one temporary, and the loop as many again (``memory``). One product with C a step.

    Examples
    --------
    >>> problem = ang.simulate.gaussian(50, 1.0, rng=0)
    >>> result = ang.synchronize(problem.C, solver=ang.GPM(alpha=4.0), start="eigenvector")
    >>> result.converged, bool((np.diff(result.history.objective) > -1e-9).all())
    (True, True)
    """

    alpha: float = 4.0
    memory: ClassVar[MemoryBudget] = MemoryBudget(vectors=8)

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise InputError(f"alpha must be positive (inf is allowed), but it is {self.alpha}.")

    def describe(self) -> str:
        """With alpha: ``alpha = inf`` is another method than a finite one."""
        return f"{type(self).__name__}(alpha={self.alpha})"

    def init(self, operator: HermitianOperator, z: NDArray) -> GPMState:
        """The starting point with its product."""
        return GPMState(z, operator.apply(z))

    def step(self, operator: HermitianOperator, state: GPMState) -> GPMState:
        """Lines 6 and 7 of Algorithm 1."""
        if math.isinf(self.alpha):
            w = state.Cz
        else:
            w = state.z + state.z.real.dtype.type(self.alpha / operator.n) * state.Cz
        z = normalize(w, state.z)
        return GPMState(z, operator.apply(z))
