"""The answers for the components as one: units, urgency, histories, certificates, and how a failure is told."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse
from problems import f, hermitian, phases

import angsync as ang
from angsync import Status, Verdict, as_operator
from angsync.certificate.verdict import trivial
from angsync.errors import ConvergenceError, ConvergenceWarning, DisconnectedWarning
from angsync.pipeline.assembly import (
    Run,
    Units,
    component_gauge,
    joined_runs,
    merged_history,
    one_certificate,
    point_at,
    result_of,
)
from angsync.pipeline.call import Call
from angsync.pipeline.gauge import in_gauge
from angsync.problem.intake import normalized, taken_in
from angsync.solvers.stopping import Clock, History, Progress

# from the most to the least urgent
URGENCY = (
    Status.INTERRUPTED, Status.STOPPED_BY_CALLBACK, Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.STALLED,
    Status.CONVERGED, Status.EMPTY,
)  # fmt: skip


def run(status=Status.CONVERGED, iterations=1, matvecs=1, history=None, method="a"):
    return Run(status, iterations, matvecs, History() if history is None else history, method)


def history(*objective):
    values = np.array(objective, dtype=float)
    return History(objective=values, residual=values / 10, step=np.arange(values.size, dtype=float))


# --- units ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("diagonal", [0.0, 0.1, 1e6])
def test_objectives_come_back_in_the_units_of_the_matrix_given(diagonal):
    C = 1000 * hermitian(9) * (1 - np.eye(9)) + diagonal * np.eye(9)
    given = as_operator(C)
    part = normalized(given)
    z = phases(9)
    solved = np.vdot(z, part.apply(z)).real
    units = Units.of(given, part)
    assert units.restored(np.array([solved]))[0] == pytest.approx(f(C, z), rel=1e-12)
    # a diagonal that stays takes part in the products; one that was left out is a constant
    assert units.constant == (9 * diagonal if diagonal == 1e6 else 0)


def test_a_callback_sees_its_own_units_and_its_own_order():
    seen = []
    order = np.array([2, 0, 1])
    callback = Units(exponent=3, constant=1.0).restored_for(seen.append, order)
    z = np.exp(1j * np.arange(3.0))
    callback(Progress(iteration=4, objective=2.0, residual=0.5, step=0.1, seconds=0.0, z=z[order], component=7))
    (progress,) = seen
    assert (progress.iteration, progress.objective, progress.component) == (4, 17.0, 7)
    np.testing.assert_array_equal(progress.z, z)
    np.testing.assert_array_equal(progress.nodes, np.arange(3))
    assert Units().restored_for(None, order) is None


def test_what_a_callback_answers_goes_on():
    stop = Units().restored_for(lambda progress: progress.iteration > 0, np.arange(2))
    z = np.ones(2, dtype=complex)
    assert [bool(stop(Progress(k, 0.0, 0.0, 0.0, 0.0, z))) for k in (0, 1)] == [False, True]


# --- runs and histories --------------------------------------------------------------------------------------


def test_the_history_of_all_components_is_as_long_as_the_longest():
    both = merged_history([history(1, 2, 3), history(10, 20)])
    assert both.objective.tolist() == [11, 22, 23]  # the shorter one stays where it ended
    assert both.residual.tolist() == [1, 2, 2]
    assert both.step == pytest.approx([0, np.sqrt(2), 2])  # and makes no more steps
    alone = history(1, 2)
    assert merged_history([alone]) is alone
    assert merged_history([]).objective.size == 0
    assert merged_history([history(), history(5)]).objective.tolist() == [5]


@pytest.mark.parametrize(("urgent", "other"), list(itertools.combinations(URGENCY, 2)))
def test_the_most_urgent_status_is_that_of_the_whole(urgent, other):
    assert joined_runs([run(other), run(urgent)], 4).status is urgent
    assert joined_runs([run(urgent), run(other)], 4).status is urgent


def test_every_status_has_its_urgency():
    assert set(URGENCY) == set(Status)


def test_runs_are_put_together():
    whole = joined_runs([run(iterations=3, matvecs=5, method="a"), run(iterations=7, matvecs=11, method="b")], 4)
    assert (whole.iterations, whole.matvecs, whole.method) == (7, 16, "a; b")
    one = run(method="alone")
    assert joined_runs([one], 4) is one


def test_a_sentence_is_said_once_and_not_more_than_three_are():
    assert joined_runs([run(method="a"), run(method="a")], 4).method == "a"
    assert joined_runs([run(method=name) for name in "abcde"], 9).method == "a; b; c; and 2 more"


def test_nothing_to_solve():
    assert joined_runs([], 1)[:3] == (Status.CONVERGED, 0, 0)
    assert joined_runs([], 1).method == "nothing to solve: there is only one node"
    assert joined_runs([], 5).method == "nothing to solve: there are no measurements"


# --- the point and its proof ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_what_is_known_at_a_point(scale):
    C, z = hermitian(12), phases(12)
    point = point_at(as_operator(scale * C), z)
    assert point.z is z
    assert point.objective == pytest.approx(scale * f(C, z), rel=1e-12)
    np.testing.assert_allclose(point.product, scale * (C @ z), rtol=1e-12)
    expected = np.linalg.norm((z.conj() * (C @ z)).imag) / np.linalg.norm(C @ z)
    assert point.residual == pytest.approx(expected, rel=1e-12)


def test_a_point_in_single_precision_is_measured_in_double():
    C, z = hermitian(12).astype(np.complex64), phases(12).astype(np.complex64)
    point = point_at(as_operator(C), z)
    wide = z.astype(complex) / np.abs(z.astype(complex))
    assert point.z is z
    assert point.objective == pytest.approx(f(C.astype(complex), wide), rel=1e-13)


def test_a_product_that_is_known_is_not_made_again():
    class Silent(type(as_operator(hermitian(3)))):
        def apply(self, z):
            raise AssertionError("a product was made")

    C, z = hermitian(12), phases(12)
    part = normalized(Silent(C))
    point = point_at(part.base, z, known=(part, (C @ z) * 2.0**-part.exponent))
    assert point.objective == pytest.approx(f(C, z), rel=1e-12)


def test_components_that_were_not_reached_leave_no_proof():
    proof = trivial(1e-8, unique=True)
    indices = [np.array([0, 1]), np.array([2, 3])]
    z = np.ones(4, dtype=complex)
    assert one_certificate([proof], indices, z).interrupted
    assert one_certificate([proof, proof], indices, z).verdict is Verdict.CERTIFIED


@pytest.mark.parametrize("gauge", ["first", "mean", 4])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_a_component_settles_as_it_does_in_the_whole(gauge, dtype):
    components = np.array([0, 1, 0, 1, 1, 0])
    z = phases(6).astype(dtype)
    whole = in_gauge(z, components, gauge, None)
    for label in (0, 1):
        index = np.flatnonzero(components == label)
        own = gauge if isinstance(gauge, str) or components[gauge] == label else int(index[0])
        np.testing.assert_array_equal(component_gauge(index, own)(z[index]), whole[index])


# --- the result ----------------------------------------------------------------------------------------------


def filled(status, on_failure="warn", **more):
    C, z = hermitian(5), phases(5)
    call = Call(on_failure=on_failure, gauge="mean")
    point = point_at(as_operator(C), z)
    return result_of(taken_in(C), call, Clock(), point, np.zeros(5, dtype=int), run(status), None, **more)


def test_a_result_says_its_status_and_the_note():
    result = filled(Status.CONVERGED, note="Two pieces.")
    assert result.message == f"{Status.CONVERGED.value} Two pieces."
    assert filled(Status.CONVERGED).message == Status.CONVERGED.value
    assert (result.gauge, result.tolerance) == ("mean", 1e-10)
    assert result.objective == pytest.approx(f(hermitian(5), phases(5)))


@pytest.mark.parametrize("status", [Status.CONVERGED, Status.STOPPED_BY_CALLBACK, Status.INTERRUPTED])
def test_what_the_caller_wanted_is_no_failure(status):
    assert filled(status, "raise").status is status  # an AngsyncWarning would be an error here


@pytest.mark.parametrize("status", [Status.STALLED, Status.ITERATION_LIMIT, Status.TIME_LIMIT])
def test_a_failure_is_told_as_asked_for(status):
    said = rf"^{status.name}: .* Residual \d\.\d\de[+-]\d\d\.$"
    with pytest.warns(ConvergenceWarning, match=said):
        filled(status)
    with pytest.raises(ConvergenceError, match=said) as caught:
        filled(status, "raise")
    assert caught.value.result.status is status
    assert filled(status, "ignore").status is status


def test_on_failure():
    C = ang.simulate.gaussian(30, 1.0, rng=0).C
    one = ang.Stopping(max_iterations=1)
    with pytest.raises(ConvergenceError, match="ITERATION_LIMIT") as caught:
        ang.synchronize(C, stopping=one, on_failure="raise", start="random")
    assert caught.value.result.iterations == 1  # nothing is lost
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not ang.synchronize(C, stopping=one, on_failure="ignore", start="random").converged


def test_a_callback_sees_the_objective_of_the_c_given():
    C = ang.simulate.gaussian(30, 0.5, rng=0).C * 2.0**30
    seen = []
    result = ang.synchronize(C, callback=lambda p: seen.append(p.objective))
    assert seen == pytest.approx(result.history.objective.tolist())
    assert seen[-1] == pytest.approx(result.objective, rel=1e-9)


def test_the_most_urgent_status_speaks_for_all_components():
    parts = [ang.simulate.gaussian(n, 1.0, rng=n).C for n in (12, 9)]
    C = scipy.sparse.block_diag(parts, format="csr")
    start = np.concatenate([np.ones(12), ang.synchronize(parts[1]).z])
    limit = ang.Stopping(max_iterations=1)
    with pytest.warns(DisconnectedWarning), pytest.warns(ConvergenceWarning):
        result = ang.synchronize(C, start=start, stopping=limit)
    assert result.status is Status.ITERATION_LIMIT


@pytest.mark.parametrize("gauge", ["first", "mean", 2])
def test_what_is_certified_is_the_point_returned_also_in_single_precision(gauge):
    # turning z into its gauge rounds it again, by 6e-8 in single precision: more than the gaps of these rings
    for seed in range(40):
        rng = np.random.default_rng(seed)
        ring = ang.simulate.ring(int(rng.integers(3, 60)), holonomy=float(rng.uniform(0, 0.5)), rng=rng)
        C = ring.C.astype(np.complex64)
        result = ang.synchronize(C, stopping=ang.Stopping(tolerance=3e-8), on_failure="ignore", gauge=gauge)
        wide = C.astype(complex)
        best = ang.synchronize(wide, stopping=ang.Stopping(tolerance=1e-14)).objective
        assert best <= result.objective + result.certificate.gap_bound
        if "relaxation" not in result.certificate.method:
            own = ang.certify(C, result.z)
            assert result.certificate.gap_bound == pytest.approx(own.gap_bound, rel=1e-6, abs=0)


def test_each_component_is_settled_as_the_whole_is():
    parts = [ang.simulate.gaussian(n, 0.5, rng=n).C.astype(np.complex64) for n in (7, 5)]
    C = scipy.sparse.block_diag(parts, format="csr").astype(np.complex64)
    order = np.random.default_rng(0).permutation(12)
    for gauge in ("first", "mean", 3):
        with pytest.warns(DisconnectedWarning):
            result = ang.synchronize(C[order][:, order], gauge=gauge)
        own = ang.certify(C[order][:, order], result.z)
        assert result.certificate.gap_bound == pytest.approx(own.gap_bound, rel=1e-6, abs=0)
