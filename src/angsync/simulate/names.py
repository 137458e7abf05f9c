"""The models and the laws of their noise by name, without loading NumPy.

A new model takes one row here, beside its function.
"""

from __future__ import annotations

from typing import Literal, get_args

Law = Literal["wrapped_normal", "von_mises"]
LAWS: tuple[str, ...] = get_args(Law)

MODELS = ("gaussian", "phase_noise", "outliers", "erdos_renyi", "grid", "ring")
"""Functions of :mod:`angsync.simulate` that make a problem, in the order in which they are listed for users."""
