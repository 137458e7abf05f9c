"""The groups of the benchmark by name, without loading NumPy. A new group takes one row here, beside its function."""

from __future__ import annotations

TITLES = {
    "dense": "dense: one problem C = z z^H + sigma W, to a residual of 1e-10",
    "products": "products: products with C until the residual is 1e-10",
    "small": "small: one small problem, to a residual of 1e-10",
    "batches": "batches: stacks of sample coherence matrices, time of one problem",
    "growth": "growth: cost against size, with fitted exponents",
    "bandwidth": "bandwidth: one product from the upper triangle of C",
}
"""What stands above the table of each group, in the order in which they run."""
