"""A keyword that does not exist: the message names the right one; signatures and help stay what they are."""

from __future__ import annotations

import inspect
import pickle
import traceback

import numpy as np
import pytest

import angsync as ang
from angsync.errors import names_keywords

C = np.ones((3, 3))
EDGES = ([0, 1], [1, 2], [0.1, 0.2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ang.synchronize(C, tol=1e-6), "synchronize has no argument 'tol'; did you mean stopping=ang.Stop"),
        (lambda: ang.synchronize(C, tolerance=1e-6), "stopping=ang.Stopping(tolerance=...)?"),
        (lambda: ang.synchronize(C, max_iter=5), "'max_iter'; did you mean stopping=ang.Stopping(max_iterations=...)?"),
        (lambda: ang.synchronize(C, timeout=5), "stopping=ang.Stopping(max_seconds=...)?"),
        (lambda: ang.synchronize(C, seed=1), "'seed'; did you mean rng?"),
        (lambda: ang.synchronize(C, weights=C), "did you mean ang.Measurements(i, j, angle, weight=...), or"),
        (lambda: ang.synchronize(C, weights=C), "a stack, ang.batch.synchronize_stack(stack, weights=...)?"),
        (lambda: ang.synchronize(C, unit="deg"), "ang.Measurements(i, j, angle, unit=...)?"),
        (lambda: ang.synchronize(C, alpha=4), "solver=ang.GPM(alpha=...)?"),
        (lambda: ang.synchronize(C, robust=True), "solver=ang.Robust()?"),
        (lambda: ang.synchronize(C, method="gpm"), "did you mean solver?"),
        (lambda: ang.synchronize(C, x0=C), "did you mean start?"),
        (lambda: ang.synchronize(C, n_jobs=2), "did you mean threads?"),
        (lambda: ang.synchronize(C, sovler="auto"), "did you mean solver?"),
        (lambda: ang.synchronize(C, xyz=1), "no argument 'xyz'; it takes data, solver, start,"),
        (lambda: ang.synchronize(C, seed=1, tol=2), "mean rng? It has no argument 'tol'; did you mean stopping"),
        (lambda: ang.certify(C, np.ones(3), tol=1e-6), "certify has no argument 'tol'; did you mean tolerance?"),
        (lambda: ang.Measurements(*EDGES, weights=1), "Measurements has no argument 'weights'; did you mean weight?"),
        (lambda: ang.Measurements([0], [1], angles=[1]), "'angles'; did you mean angle?"),
        (lambda: ang.Measurements(*EDGES, degrees=True), "'degrees'; did you mean unit?"),
        (lambda: ang.Measurements(*EDGES, nodes=3), "did you mean n?"),
        (lambda: ang.Measurements.from_dataframe(None, weights="w"), "from_dataframe has no argument 'weights'; did"),
        (lambda: ang.Stopping(tol=1e-6), "Stopping has no argument 'tol'; did you mean tolerance?"),
        (lambda: ang.Stopping(max_iter=3), "did you mean max_iterations?"),
        (lambda: ang.Stopping(maxiter=3), "did you mean max_iterations?"),
        (lambda: ang.GPM(alhpa=1), "GPM has no argument 'alhpa'; did you mean alpha?"),
        (lambda: ang.Robust(rounds=3), "did you mean max_rounds?"),
        (lambda: ang.simulate.gaussian(5, 1.0, seed=0), "gaussian has no argument 'seed'; did you mean rng?"),
        (lambda: ang.read("edges.csv", units="deg"), "read has no argument 'units'; did you mean unit?"),
        (lambda: ang.synchronize(C).standard_errors(noise=1.0), "did you mean sigma?"),
    ],
)  # fmt: skip
def test_the_right_keyword_is_named(call, message):
    with pytest.raises(TypeError) as caught:
        call()
    assert message in str(caught.value)
    assert caught.value.__suppress_context__


FUNCTIONS = [value for name in ang.__all__ if callable(value := getattr(ang, name))]
RECORDS = (ang.BatchResult, ang.Certificate, ang.Connectivity, ang.Status, ang.SyncResult, ang.Verdict)  # made by us


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in RECORDS], ids=lambda f: f.__name__)
def test_every_public_function_says_so(function):
    with pytest.raises(TypeError, match=f"^{function.__name__} has no argument 'nonsense'; it takes "):
        function(nonsense=1)


def test_other_mistakes_keep_their_own_words():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'data'"):
        ang.synchronize()
    with pytest.raises(TypeError, match="takes 1 positional argument but 2"):
        ang.synchronize(C, "auto")


def test_an_error_from_inside_is_left_alone():
    def callback(progress):
        raise TypeError("mine, about tol=1")

    with pytest.raises(TypeError, match=r"^mine, about tol=1$") as caught:
        ang.synchronize(ang.simulate.gaussian(200, 5.0, rng=0).C, callback=callback)
    assert "callback" in traceback.extract_tb(caught.value.__traceback__)[-1].name


def test_signatures_and_help_stay_right():
    parameters = inspect.signature(ang.synchronize).parameters
    assert list(parameters)[:3] == ["data", "solver", "start"]
    assert not any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    assert list(inspect.signature(ang.Measurements).parameters)[:4] == ["i", "j", "angle", "weight"]
    assert next(iter(inspect.signature(ang.Stopping).parameters)) == "tolerance"
    assert ang.synchronize.__doc__.startswith("Find the phases z")
    assert pickle.loads(pickle.dumps(ang.synchronize)) is ang.synchronize
    assert pickle.loads(pickle.dumps(ang.GPM(alpha=2.0))) == ang.GPM(alpha=2.0)


def test_functions_that_take_any_keyword_are_left_alone():
    @names_keywords
    def anything(**options):
        return options

    assert anything(tol=1) == {"tol": 1}
