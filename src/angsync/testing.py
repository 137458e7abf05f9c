"""Checks that every operator, every solver and every application must pass, shipped so that users can check their own.

Each raises ``AssertionError`` with what failed, and returns None when all is well.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.problem.operators import DenseOperator, HermitianOperator, Operator, adapted
from angsync.problem.residual import objective_and_residual
from angsync.simulate import gaussian, grid
from angsync.solvers.base import Solver, SolverBase, State, as_solver
from angsync.solvers.loop import iterate
from angsync.solvers.starts.eigenvector import eigenvector_estimator
from angsync.solvers.stopping import Stopping


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _require_frozen(record: Any, why: str) -> None:
    params = getattr(type(record), "__dataclass_params__", None)
    _require(params is not None and params.frozen, f"{type(record).__name__} must be frozen: {why}")


def check_operator(operator: Any, *, rng: Any = 0) -> None:
    """Check that ``operator`` follows :class:`angsync.problem.operators.HermitianOperator` and is consistent.

    Optional methods (``component_labels``, ``restrict``, ``to_dense``, ``is_real``, ``row_length``) are checked where
    the operator has them. The matrix is rebuilt from n products, so use one of modest order (up to about 1000).

    Examples
    --------
    >>> ang.testing.check_operator(ang.as_operator(ang.simulate.ring(9, rng=0).C))
    """
    name = type(operator).__name__
    _require(isinstance(operator, HermitianOperator), f"{name} lacks a part of the HermitianOperator protocol")
    generator = np.random.default_rng(rng)
    n = operator.n
    _require(operator.dtype in (np.complex64, np.complex128), f"{name}.dtype must be complex64 or complex128")
    eps = float(np.finfo(operator.dtype).eps)
    matrix = operator.apply(np.eye(n, dtype=operator.dtype))
    _require(matrix.shape == (n, n), f"{name}.apply of a block (n, k) must have shape (n, k)")
    size = float(np.abs(matrix).sum(axis=1).max()) or 1.0
    limit = 10 * n * eps * size
    _require(float(np.abs(matrix - matrix.conj().T).max()) <= limit, f"{name} is not Hermitian")
    x = (generator.standard_normal(n) + 1j * generator.standard_normal(n)).astype(operator.dtype)
    before = x.copy()
    image = operator.apply(x)
    _require(image.shape == (n,), f"{name}.apply of a vector (n,) must have shape (n,)")
    _require(np.array_equal(x, before), f"{name}.apply must not change its argument")
    _require(image.dtype == operator.dtype, f"{name}.apply must keep the dtype {operator.dtype}, not {image.dtype}")
    scale = limit * float(np.abs(x).max())
    _require(float(np.abs(image - matrix @ x).max()) <= scale, f"{name}.apply of a vector and of a block differ")
    _require(
        float(np.abs(operator.apply(2j * x) - 2j * image).max()) <= 4 * scale,
        f"{name}.apply is not complex linear",
    )
    diagonal = operator.diagonal()
    _require(not np.iscomplexobj(diagonal), f"{name}.diagonal must be real")
    _require(float(np.abs(diagonal - matrix.diagonal().real).max()) <= limit, f"{name}.diagonal is wrong")
    sums = operator.abs_row_sums()
    if sums is not None:
        _require(float(np.abs(sums - np.abs(matrix).sum(axis=1)).max()) <= limit, f"{name}.abs_row_sums is wrong")
    _check_optional_methods(adapted(operator), name, matrix, limit)


def _check_optional_methods(operator: Operator, name: str, matrix: NDArray, limit: float) -> None:
    """What an operator says of itself beyond the five members; a general answer passes by its nature."""
    dense = operator.to_dense()
    _require(dense.shape == matrix.shape, f"{name}.to_dense must have shape (n, n)")
    _require(float(np.abs(dense - matrix).max()) <= limit, f"{name}.to_dense is not the matrix of its products")
    _require(not operator.is_real() or float(np.abs(matrix.imag).max()) <= limit, f"{name}.is_real is wrong")
    _require(operator.row_length() >= 0, f"{name}.row_length must not be negative")
    labels = operator.component_labels()
    if labels is None:
        return
    _require(labels.shape == (operator.n,), f"{name}.component_labels must be one label a node")
    apart = labels[:, None] != labels[None, :]
    _require(not np.any(np.abs(matrix[apart]) > limit), f"{name}.component_labels separates nodes that C joins")
    index = np.flatnonzero(labels == labels[-1])
    if index.size == operator.n:
        return
    # components are solved one by one, so an operator that has several of them has to be restricted to each
    part = operator.restrict(index).apply(np.eye(index.size, dtype=operator.dtype))
    _require(float(np.abs(part - matrix[np.ix_(index, index)]).max()) <= limit, f"{name}.restrict is wrong")


def check_solver(solver: Solver | SolverBase, *, monotone: bool = False) -> None:
    """Check that ``solver`` keeps to its contract (:mod:`angsync.solvers.base`) and to the invariances of the problem.

    Frozen settings; states with all their parts; no more steps than the loop allows; unit modulus; a known product
    with every iterate; convergence on an easy dense problem to the objective that Newton's method finds; gauge
    equivariance; nothing done at an optimum. With ``monotone`` the objective must never decrease, also on a grid.

    Examples
    --------
    >>> ang.testing.check_solver(ang.GPM())  # says nothing where all is well
    """
    name = type(solver).__name__
    _require(dataclasses.is_dataclass(solver), f"{name} must be a dataclass")
    _require_frozen(solver, "progress belongs into the state")
    _require(isinstance(solver, Solver), f"{name} must have init and step")
    problem = gaussian(40, 0.5, rng=1)
    operator = DenseOperator(problem.C)
    start = eigenvector_estimator(operator)
    _check_hooks(solver, operator, np.ones(40, dtype=complex))
    outcome = iterate(operator, solver, start, Stopping(tolerance=1e-8, max_iterations=2000))
    _require(
        outcome.residual <= 1e-8,
        f"{name} did not converge on an easy problem (residual {outcome.residual:.1e})",
    )
    _require(float(np.abs(np.abs(outcome.z) - 1).max()) < 1e-12, f"{name} left T^n")
    known = float(np.abs(outcome.Cz - operator.apply(outcome.z)).max())
    _require(known < 1e-10 * float(np.abs(outcome.Cz).max()), f"{name}: state.Cz is not the product with state.z")
    best = iterate(operator, _reference(), problem.z, Stopping(tolerance=1e-12)).objective
    _require(abs(outcome.objective - best) <= 1e-10 * best, f"{name} ended at another objective than the optimum")
    again = iterate(operator, solver, outcome.z, Stopping(tolerance=1e-8))
    _require(again.iterations == 0, f"{name} did not recognize an optimum given as its start")

    turn = np.exp(2j * np.pi * np.random.default_rng(2).random(40))
    turned = DenseOperator(turn[:, None] * problem.C * turn.conj()[None, :])
    moved = iterate(turned, solver, turn * start, Stopping(tolerance=1e-8, max_iterations=2000))
    _require(
        float(np.abs(moved.z - turn * outcome.z).max()) < 1e-6,
        f"{name} is not equivariant under a change of gauge",
    )
    if monotone:
        lattice = grid(8, 8, 0.5, rng=3)
        rough = np.exp(2j * np.pi * np.random.default_rng(4).random(64))
        run = iterate(DenseOperator(lattice.C.toarray()), solver, rough, Stopping(max_iterations=50))
        drop = float(np.diff(run.history.objective).min(initial=0.0))
        _require(drop >= -1e-12 * abs(run.objective), f"{name} let the objective fall by {-drop:.2e}")


def _check_hooks(solver: Solver | SolverBase, operator: HermitianOperator, z: NDArray) -> None:
    """What the loop and the pipeline ask beside ``init`` and ``step``: of the solver, or of its wrapper."""
    name = type(solver).__name__
    complete = as_solver(solver)
    first = solver.init(operator, z)
    for what, state in (("init", first), ("step", solver.step(operator, first))):
        _require(isinstance(state, State), f"{name}.{what} must give a state with z, Cz and exhausted")
        _require(state.exhausted in (True, False), f"{name}.{what}: exhausted must be True or False")
        objective, _ = objective_and_residual(state.z, state.Cz)
        _require(np.isfinite(objective), f"{name}.{what} must give a state with z and Cz")
    _require(name in complete.describe(), f"{name}.describe must name the solver")
    _require(complete.starts is None or complete.starts >= 1, f"{name}.starts must be None or at least 1")
    for most in (0, 1, 3):
        run = iterate(operator, solver, z, Stopping(tolerance=0.0, max_iterations=most))
        _require(run.iterations <= most, f"{name} took {run.iterations} steps where it was limited to {most}")
        _require(run.history.objective.size == run.iterations + 1, f"{name}: an iterate is missing in the history")


def _reference() -> Solver:
    from angsync.solvers import Newton

    return Newton()


def check_application(result: Any) -> None:
    """Check that the result of an application keeps to :class:`angsync.applications.result.ApplicationResult`.

    Frozen; the solved problem in ``sync``; a description whose table is complete; text, page, file and JSON that are
    made of it, the page without scripts of its own and without anything to load, and all of them the same when made
    twice.
    """
    import json
    import tempfile
    from pathlib import Path

    from angsync.applications.result import ApplicationResult
    from angsync.io.strict_json import to_json
    from angsync.report.template import packaged

    name = type(result).__name__
    _require(isinstance(result, ApplicationResult), f"{name} must inherit from ApplicationResult")
    _require(dataclasses.is_dataclass(result), f"{name} must be a dataclass")
    _require_frozen(result, "a result does not change")
    _require(any(field.name == "sync" for field in dataclasses.fields(result)), f"{name} must have the field sync")
    told = result.describe()
    _require(bool(told.rows) and bool(told.columns), f"{name}.describe must have rows and columns")
    _require(all(1 < len(row) <= 3 for row in told.rows), f"{name}: a row is a label, a value and perhaps a note")
    text = str(result)
    _require(text == str(result) and result.proof.words in text, f"{name}: print must say what is proved")
    _require(all(sentence in text for sentence in told.sentences), f"{name}: print leaves out a sentence")
    _require(isinstance(json.loads(to_json(result.to_dict())), dict), f"{name}.to_dict must be an object for JSON")
    with tempfile.TemporaryDirectory() as folder:
        page, table, arrays = (Path(folder) / file for file in ("page.html", "table.csv", "table.npz"))
        result.to_html(page)
        content = page.read_text(encoding="utf-8")
        own = content.replace(f"<script>{packaged('page.js')}</script>", "")
        _require("<script" not in own, f"{name}: the page holds a script")
        _require("default-src 'none'" in content, f"{name}: the page has no policy that forbids to load anything")
        _require('src="http' not in content and 'href="http' not in content, f"{name}: the page loads something")
        result.save(table)
        lines = table.read_text(encoding="utf-8").splitlines()
        _require(len(lines) >= 1 + len(next(iter(told.columns.values()))), f"{name}: the file lacks rows")
        result.save(arrays)
        with np.load(arrays) as kept:
            _require({*told.columns, *told.arrays, "facts"} == set(kept.files), f"{name}: npz lacks arrays")
            facts = json.loads(str(kept["facts"]))
            _require(facts["kind"] == told.kind, f"{name}: the file does not say what it holds")
