r"""The numbered statements of the paper as functions.

One function a statement, named by its claim; each takes what the statement takes (n, alpha, the norms of the noise)
and returns its constants, its bounds, and whether its conditions hold and which one fails. The conditions are
*sufficient*: where they fail nothing is said, and the method usually works all the same. ``op`` is
:math:`\|\Delta\|_{op}` and ``noise_inf`` is :math:`\|\Delta z^\star\|_\infty`.

======  =====================================================================
row     function
======  =====================================================================
F1      :func:`eigenvector_error_bound`
F2      :func:`convergence_ratios`
F3      :func:`maximizer_error_bound`
F4      :func:`critical_point_bounds`
P1      :func:`normalization_bound`
P2      :func:`one_step_bound`
T1      :func:`l2_error_bound`
T2      :func:`linf_error_bound`
C1      :func:`gaussian_error_bounds`
P3      :func:`optimum_distance_bound`
P4      :func:`critical_distance_bound`
P5      :func:`progress_constants`
T3      :func:`linear_convergence`
C2      :func:`gaussian_linear_convergence`
B1      :func:`cramer_rao_bound` (and ``efficiency``, which measures errors against it)
======  =====================================================================

``report`` evaluates them for one solved problem.
"""

from angsync.theory.conditions import Condition, Conditions
from angsync.theory.convergence import (
    LinearConvergence,
    OptimumDistance,
    ProgressConstants,
    critical_distance_bound,
    gaussian_linear_convergence,
    linear_convergence,
    optimum_distance_bound,
    progress_constants,
)
from angsync.theory.efficiency import Efficiency, efficiency
from angsync.theory.estimation import (
    GaussianErrorBounds,
    Inequality,
    L2ErrorBound,
    LinfErrorBound,
    OneStep,
    gaussian_error_bounds,
    gaussian_probability,
    l2_error_bound,
    linf_error_bound,
    normalization_bound,
    one_step_bound,
)
from angsync.theory.facts import (
    ConvergenceRatios,
    CriticalPointBounds,
    DistanceBound,
    convergence_ratios,
    critical_point_bounds,
    eigenvector_error_bound,
    maximizer_error_bound,
)
from angsync.theory.norms import noise_extremes, noise_norms, operator_norm
from angsync.theory.report import Line, TheoryReport, report
from angsync.uncertainty import cramer_rao_bound, cramer_rao_variances

__all__ = [
    "Condition",
    "Conditions",
    "ConvergenceRatios",
    "CriticalPointBounds",
    "DistanceBound",
    "Efficiency",
    "GaussianErrorBounds",
    "Inequality",
    "L2ErrorBound",
    "Line",
    "LinearConvergence",
    "LinfErrorBound",
    "OneStep",
    "OptimumDistance",
    "ProgressConstants",
    "TheoryReport",
    "convergence_ratios",
    "cramer_rao_bound",
    "cramer_rao_variances",
    "critical_distance_bound",
    "critical_point_bounds",
    "efficiency",
    "eigenvector_error_bound",
    "gaussian_error_bounds",
    "gaussian_linear_convergence",
    "gaussian_probability",
    "l2_error_bound",
    "linear_convergence",
    "linf_error_bound",
    "maximizer_error_bound",
    "noise_extremes",
    "noise_norms",
    "normalization_bound",
    "one_step_bound",
    "operator_norm",
    "optimum_distance_bound",
    "progress_constants",
    "report",
]
