"""Power steps from a breadth-first tree."""

from __future__ import annotations

import angsync as ang
from angsync.solvers.starts.power import informed_power
from angsync.solvers.starts.tree import breadth_first_tree


def test_informed_power_improves_on_the_tree_it_starts_from():
    problem = ang.simulate.erdos_renyi(800, 0.02, 0.8, rng=0)
    operator = ang.as_operator(problem.C)
    tree, powered = breadth_first_tree(operator), informed_power(operator)
    assert ang.distance(powered, problem.z, 2) < 0.5 * ang.distance(tree, problem.z, 2)
