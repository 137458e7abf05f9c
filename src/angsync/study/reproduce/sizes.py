"""How much is simulated: enough for every claim in the full run, two minutes at most in the quick one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Numbers of cases. Everything is deterministic given these and the seed."""

    model_order: int
    """n of the simulations whose law is checked; the pairs are the sample."""
    identities: int
    """Random problems of M2, M3, A1, A2 each."""
    property_cases: int
    """Random cases of P1; P2 takes a tenth."""
    facts: int
    """Problems of F1, F2, F3."""
    critical: int
    """Problems of F4 and P4, several starts each."""
    theorems: int
    """Problems of T1 and T2, and again of C1; four step sizes each."""
    convergence: int
    """Problems of T3, P3, P5, and again of C2; four step sizes each."""
    relaxations: int
    """Problems a noise level of A3."""
    figure_order: int
    """n of the single problems that are drawn."""
    bound_runs: int
    """Draws at n = bound_order of B1."""
    bound_order: int
    efficiency_order: int
    efficiency_runs: int
    efficiency_large_runs: int
    """Draws a noise level at n = bound_order, without the SDR; 0: none."""
    transition_orders: tuple[int, ...]
    transition_runs: int


QUICK = Size(
    model_order=300, identities=30, property_cases=2000, facts=60, critical=20, theorems=240, convergence=48,
    relaxations=2, figure_order=200, bound_runs=24, bound_order=1000, efficiency_order=100, efficiency_runs=12,
    efficiency_large_runs=0,
    transition_orders=(50, 100), transition_runs=8,
)  # fmt: skip

FULL = Size(
    model_order=800, identities=200, property_cases=20000, facts=400, critical=100, theorems=1200, convergence=240,
    relaxations=10, figure_order=400, bound_runs=200, bound_order=1000, efficiency_order=200, efficiency_runs=40,
    efficiency_large_runs=16,
    transition_orders=(50, 100, 200), transition_runs=30,
)  # fmt: skip
