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
from angsync.pipeline.task import Attempt, Task
from angsync.solvers import Newton
from angsync.solvers.loop import LIGHT_RADIANS, is_even
from angsync.solvers.starts.entries import needed_matrix
from angsync.solvers.stopping import Status

_POWER_STEPS, _GPM_STEPS = 10, 6  # as for a stack (batch/call.py, batch/stack.py)
_MOST_STEPS = 1000  # of ten milliseconds at n = 256; a few are usual
_SAME_OBJECTIVE = 1e-11  # relative: light nodes hardly show in f, and a point below this is another optimum


def finish_light_nodes(task: Task, attempt: Attempt) -> Attempt:
    """The attempt with its light nodes where their neighbors want them; as it is where they are not what is wrong."""
    outcome = attempt.outcome
    steps = min(_MOST_STEPS, task.call.stopping.max_iterations - outcome.iterations)
    if outcome.status is not Status.STALLED or steps < 1 or task.clock.expired or not _has_few_uneven_nodes(task):
        return attempt
    z = _eliminated(task, outcome.z, steps)
    if z is None:
        return attempt
    # the loop measures the point and tells the callback; one more step by conjugate gradients would spoil it
    measured = replace(task.call.stopping, tolerance=max(_tolerance(task), LIGHT_RADIANS), max_iterations=0)
    later = task.run(Newton(), z, measured, first_iteration=outcome.iterations + 1)
    later = replace(later, history=outcome.history.followed_by(later.history, jump=True))
    if later.status not in (Status.CONVERGED, Status.STOPPED_BY_CALLBACK):
        stopped = later.status in (Status.INTERRUPTED, Status.TIME_LIMIT)
        return replace(attempt, outcome=replace(outcome, status=later.status)) if stopped else attempt
    lower = later.objective < outcome.objective - _SAME_OBJECTIVE * abs(outcome.objective)
    if lower or later.residual > _tolerance(task):
        return attempt
    return attempt.then("; nodes of small weight were finished by elimination", outcome=later)


def _tolerance(task: Task) -> float:
    return task.call.stopping.tolerance_for(task.operator.dtype)


def _has_few_uneven_nodes(task: Task) -> bool:
    operator = task.operator
    sums = operator.abs_row_sums()
    return operator.n <= MAX_ORDER and operator.entries() is not None and sums is not None and not is_even(sums)


def _eliminated(task: Task, z: NDArray, steps: int) -> NDArray | None:
    """Where the kernel for stacks gets by Newton steps from z, or else from its own start; None where it stalls too."""
    stack = needed_matrix(task.operator, "elimination").toarray().astype(np.complex128)[None]
    tolerance = _tolerance(task)
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
