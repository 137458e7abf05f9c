"""Power steps from a breadth-first tree: the start for graphs of millions of nodes that mix well."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from angsync.circle import normalize
from angsync.problem.operators import Operator
from angsync.solvers.starts.tree import breadth_first_tree

_MOST_POWER_STEPS = 15  # about eight are usual
_SETTLED_SHARE = 5e-4  # gain of the objective in one step, relative, below which more steps are left to the solver


def informed_power(operator: Operator, _rng: np.random.Generator | None = None) -> NDArray:
    r"""Steps :math:`z \leftarrow Cz / |Cz|` from the breadth-first tree: about eight products, for millions of nodes.

    The tree agrees with the truth far better than a random vector, so the steps that would find the first trace of the
    leading eigenvector are saved. They end when the objective has settled, at the point where it is largest.
    """
    z = breadth_first_tree(operator)
    last = -np.inf
    for _ in range(_MOST_POWER_STEPS):
        w = operator.apply(z)
        share = float(np.vdot(z, w).real)
        if share - last < _SETTLED_SHARE * abs(share):
            break
        last = share
        z = normalize(w, z)
    return z.astype(operator.dtype)
