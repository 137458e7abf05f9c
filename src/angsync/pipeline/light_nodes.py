"""Few nodes with weights over many decades: what conjugate gradients leave of the light ones is done by elimination.

A Newton step by conjugate gradients is as good as its largest terms: beside weights of 1e12 it does not see those of
1e-12. The kernel for stacks eliminates one node after the other, which keeps the digits of every one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from angsync import kernels
from angsync.kernels.batch.numbers import CONVERGED, FIELDS, MAX_ORDER, BatchNumbers, BatchOptions, chirp
from angsync.pipeline.search import Search
from angsync.solvers import Newton
from angsync.solvers.loop import LIGHT_RADIANS, is_even
from angsync.solvers.starts.entries import needed_matrix
from angsync.solvers.stopping import Status

_POWER_STEPS, _GPM_STEPS = 10, 6  # as for a stack (batch/call.py, batch/stack.py)
_MOST_STEPS = 1000  # of ten milliseconds at n = 256; a few are usual
_SAME_OBJECTIVE = 1e-11  # relative: light nodes hardly show in f, and a point below this is another optimum


def finish_light_nodes(search: Search) -> None:
    """Move the light nodes to where their neighbors want them, if they are what is wrong with the best point."""
    outcome = search.point
    steps = min(_MOST_STEPS, search.call.stopping.max_iterations - outcome.iterations)
    if outcome.status is not Status.STALLED or steps < 1 or search.clock.expired or not _has_few_uneven_nodes(search):
        return
    z = _eliminated(search, outcome.z, steps)
    if z is None:
        return
    # the loop measures the point and tells the callback; one more step by conjugate gradients would spoil it
    measured = replace(search.call.stopping, tolerance=max(_tolerance(search), LIGHT_RADIANS), max_iterations=0)
    later = search.run(Newton(), z, measured, jump=True)
    lower = later.objective < outcome.objective - _SAME_OBJECTIVE * abs(outcome.objective)
    if later.status is Status.CONVERGED and not lower and later.residual <= _tolerance(search):
        search.take(later)
        search.method += "; nodes of small weight were finished by elimination"


def _tolerance(search: Search) -> float:
    return search.call.stopping.tolerance_for(search.operator.dtype)


def _has_few_uneven_nodes(search: Search) -> bool:
    operator = search.operator
    sums = operator.abs_row_sums()
    return operator.n <= MAX_ORDER and operator.entries() is not None and sums is not None and not is_even(sums)


def _eliminated(search: Search, z: NDArray, steps: int) -> NDArray | None:
    """Where the kernel for stacks gets by Newton steps from z, or else from its own start; None where it stalls too."""
    stack = needed_matrix(search.operator, "elimination").toarray().astype(np.complex128)[None]
    tolerance = _tolerance(search)
    phases, numbers, found = np.empty((1, z.size), dtype=np.complex128), BatchNumbers.of(1), np.zeros((len(FIELDS), 1))
    here = z.astype(np.complex128)
    for start, power_steps, gpm_steps in (
        (here / np.abs(here), 0, 0),
        (chirp(z.size).astype(np.complex128), _POWER_STEPS, _GPM_STEPS),
    ):
        options = BatchOptions(
            power_steps=power_steps,
            gpm_steps=gpm_steps,
            max_iterations=steps,
            triangle=0,
            certify=False,
            gauge=1,
            swept=power_steps > 0,  # without power steps it begins at z itself
            tolerance=tolerance,
            accepted=tolerance,
        )
        kernels.solve_batch(stack, start, phases, numbers, found, options)
        if numbers.status[0] == CONVERGED:
            return phases[0].astype(z.dtype)
    return None
