"""One component: where it starts."""

from __future__ import annotations

import numpy as np
import pytest

import angsync as ang
from angsync.pipeline.call import Call
from angsync.pipeline.component import _starting_point
from angsync.pipeline.regime import Plan
from angsync.pipeline.task import Task
from angsync.problem.operators import CountingOperator, as_operator
from angsync.solvers.stopping import Clock


@pytest.mark.parametrize("names", [("random", "spanning_tree"), ("spanning_tree", "random")])
def test_of_two_starts_the_better_is_taken(names):
    # exact measurements: the tree has the largest objective there is
    problem = ang.simulate.grid(12, 12, 0.0, rng=0)
    operator = as_operator(problem.C)
    task = Task(CountingOperator(operator), operator, Call(), "auto", None, Clock(), np.random.default_rng(7))
    start = _starting_point(task, Plan(names, ang.Newton(), None, ""))
    assert (start.name, start.words) == ("spanning_tree", "a spanning tree")
    assert ang.distance(start.z, problem.z) < 1e-9
