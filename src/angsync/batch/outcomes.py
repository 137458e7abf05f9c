"""A solved stack in other forms: how each problem ended in one word, named columns, an ``xarray.Dataset``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError, MissingDependencyError, ShapeError

if TYPE_CHECKING:
    from angsync.batch.result import BatchResult

# One word for each code of BatchStatus; what is solved is told apart by its verdict.
_WORDS = {
    "CONVERGED": "SOLVED",
    "ITERATION_LIMIT": "NOT CONVERGED",
    "NOT_FINITE": "NOT FINITE",
    "STALLED": "NOT CONVERGED",
    "INTERRUPTED": "INTERRUPTED",
    "EMPTY": "NO DATA",
    "DISCONNECTED": "DISCONNECTED",
    "NO_DATA": "NO DATA",
}


def outcomes(status: NDArray[np.int8], verdict: NDArray[np.int8] | None) -> NDArray[np.str_]:
    """See :meth:`angsync.BatchResult.outcomes`."""
    from angsync.batch.result import BatchStatus

    words = np.array([_WORDS[code.name] for code in BatchStatus])[np.asarray(status)]
    if verdict is None:
        return np.asarray(words)
    # a point that stalled near the optimum may be certified all the same
    certified = np.asarray(verdict) == 0
    return np.where(certified, "CERTIFIED", np.where(words == "SOLVED", "UNDECIDED", words))


def columns_of(result: BatchResult, of: str) -> dict[str, NDArray]:
    """Columns of one row a problem, or a node of a problem, in the order of the array."""
    if of not in ("problems", "phases"):
        raise InputError(f"of must be 'problems' or 'phases', not {of!r}.")
    shape = result.shape if of == "problems" else (*result.shape, result.n)
    names = [f"dim_{k}" for k in range(len(result.shape))] + ["node"] * (of == "phases")
    places = np.indices(shape).reshape(len(shape), -1) if shape else np.zeros((0, 1), dtype=int)
    columns: dict[str, NDArray] = dict(zip(names, places, strict=True))
    if of == "phases":
        return {**columns, "angle": np.asarray(result.angles).reshape(-1)}
    columns["outcome"] = result.outcomes().reshape(-1).astype(object)
    given = {
        "objective": result.objective, "residual": result.residual, "iterations": result.iterations,
        "gap_bound": result.gap_bound, "relative_gap": result.relative_gap, "lambda_2": result.lambda_2,
    }  # fmt: skip
    return columns | {name: np.asarray(values).reshape(-1) for name, values in given.items() if values is not None}


def dataset_of(result: BatchResult, dims: Sequence[str] | None, coords: Any, standard_errors: bool) -> Any:
    """See :meth:`angsync.BatchResult.to_xarray`."""
    from angsync.batch.dataset import ORDER, attributes_of

    try:
        import xarray
    except ImportError:
        raise MissingDependencyError("xarray", "stack", "to_xarray()") from None
    depth = len(result.shape)
    names = tuple(f"dim_{k}" for k in range(depth)) if dims is None else tuple(dims)
    names = (*names, "node") if len(names) == depth else names
    if len(names) != depth + 1 or len(set(names)) < depth + 1:
        raise ShapeError(
            f"dims must name the {depth} axes of the stack (and, if wanted, that of the nodes), each by a name of its "
            f"own, but it is {tuple(dims or ())}."
        )
    found = {
        "z": result.z, "status": result.status, "verdict": result.verdict, "gap_bound": result.gap_bound,
        "residual": result.residual, "lambda_2": result.lambda_2, "objective": result.objective,
    }  # fmt: skip
    variables: dict[str, Any] = {
        name: (names if name == "z" else names[:-1], np.asarray(found[name]), attributes_of(name))
        for name in ORDER
        if found[name] is not None
    }
    told = {"long_name": "phases", "units": "radian"}
    variables["angle"] = (names, np.asarray(result.angles), told)
    variables["iterations"] = (names[:-1], np.asarray(result.iterations), {"long_name": "steps of the solver"})
    if standard_errors:
        errors = {"long_name": "standard errors of the phases", "units": "radian"}
        variables["standard_error"] = (names, result.standard_errors(), errors)
    facts = {"tolerance": result.tolerance, "gauge": str(result.gauge), "seconds": result.seconds}
    return xarray.Dataset(variables, coords, facts)
