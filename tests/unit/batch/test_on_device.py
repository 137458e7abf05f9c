"""The way of a stack on a device, with stand-ins for its library."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from problems import gaussian_stack

import angsync as ang
from angsync.batch import stack as batch
from angsync.batch.call import StackCall
from angsync.batch.on_device import solve_where_it_lies
from angsync.errors import ConvergenceWarning, DisconnectedWarning, NotHermitianError


def test_device_front_keeps_phases_in_their_library():
    """The way of a device stack, with NumPy in the place of the device library."""
    C = gaussian_stack(6, 5, dtype=np.complex64)
    C[2] = np.nan
    call = StackCall(ang.Stopping(), True, "first", "warn", "full")
    with pytest.warns(ConvergenceWarning, match="1 not finite"):
        result = batch.reported(solve_where_it_lies(C, call)[0], call)
    good = np.arange(5) != 2
    assert np.abs(result.z[good] - ang.synchronize(C[good]).z).max() < 1e-4
    np.testing.assert_array_equal(result.certified, good)
    assert solve_where_it_lies(C[good], replace(call, certify=False))[0].verdict is None


def test_what_a_device_leaves_open_is_solved_again_on_the_host():
    rng = np.random.default_rng(3)
    W = np.triu(rng.standard_normal((200, 8, 8)) + 1j * rng.standard_normal((200, 8, 8)), 1)
    C = (W + W.conj().swapaxes(1, 2)).astype(np.complex64).reshape(10, 20, 8, 8)
    once, _ = solve_where_it_lies(C, CALL)
    more = batch._improved_on_the_host(C, once, CALL)
    host = ang.synchronize(C.astype(complex))
    worse = [int((r.objective < host.objective * (1 - 1e-4)).sum()) for r in (once, more)]
    assert worse[0] >= 8  # 8 % of such problems
    assert worse[1] <= 2
    assert (more.objective >= once.objective).all()
    assert (more.z.dtype, more.z.shape, more.shape) == (once.z.dtype, once.z.shape, once.shape)
    f = np.einsum("abj,abjl,abl->ab", more.z.conj(), C, more.z).real
    np.testing.assert_allclose(more.objective, f, rtol=1e-4)
    assert batch._improved_on_the_host(C, once, replace(CALL, effort="low")) is once


CALL = StackCall(ang.Stopping(), True, "first", "warn", "full")


def test_ctrl_c_on_the_host_marks_what_a_device_left_open(monkeypatch):
    C = gaussian_stack(6, 80, 3.0, seed=2)
    once, _ = solve_where_it_lies(C, CALL)

    def pressed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("angsync.batch.further.Search.improved", pressed)
    more = batch._improved_on_the_host(C, once, CALL)
    assert (more.status[more.verdict == 1] == ang.batch.BatchStatus.INTERRUPTED).all()
    assert more.counts()["INTERRUPTED"] > 0
    assert np.isfinite(more.z).all()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("hermitian", ["full", "upper", "lower"])
@pytest.mark.parametrize("gauge", ["first", "mean", 4])
def test_a_device_knows_the_triangles_and_gauges_of_the_host(dtype, hermitian, gauge):
    C = gaussian_stack(6, 5, dtype=dtype).reshape(5, 1, 6, 6)
    given = {"full": C, "upper": np.triu(C) + np.tril(np.full((6, 6), np.pi), -1), "lower": np.tril(C)}[hermitian]
    given = given.astype(dtype)
    result, troubled = solve_where_it_lies(given, replace(CALL, gauge=gauge, hermitian=hermitian))
    host = ang.synchronize(C, gauge=gauge)
    assert not troubled
    np.testing.assert_allclose(result.z, host.z, atol=1e-3)
    np.testing.assert_array_equal(result.certified, host.certified)
    np.testing.assert_array_equal(result.components, host.components)
    assert (result.shape, result.gauge, result.objective.dtype) == ((5, 1), gauge, np.float64)


def test_what_is_in_pieces_is_said_on_a_device():
    C = gaussian_stack(6, 4)
    C[1] = 0
    C[2, :3, 3:] = C[2, 3:, :3] = 0
    C[3, 5] = C[3, :, 5] = 0
    result, troubled = solve_where_it_lies(C, CALL)
    with pytest.warns(DisconnectedWarning):
        host = ang.synchronize(C)
    assert troubled
    for name in ("status", "components", "verdict"):
        np.testing.assert_array_equal(getattr(result, name), getattr(host, name))
    np.testing.assert_allclose(result.z[2:], host.z[2:], atol=1e-4)
    with pytest.warns(DisconnectedWarning, match="1 without any measurement"):
        batch.reported(result, CALL)


@pytest.mark.filterwarnings("ignore:Standard errors.*the noise is large")
def test_what_is_asked_of_a_stack_on_a_device_later():
    """Standard errors and pieces read the stack again, where it lies."""
    C = gaussian_stack(6, 4).reshape(2, 2, 6, 6)
    C[1, 0, 5] = C[1, 0, :, 5] = 0
    result, host = solve_where_it_lies(C, CALL)[0], ang.synchronize(C, on_failure="ignore")
    np.testing.assert_array_equal(result.component_labels(), host.component_labels())
    np.testing.assert_allclose(result.standard_errors(), host.standard_errors(), rtol=1e-3)
    chosen = result[result.components == 1]
    assert (chosen.shape, chosen.component_labels().shape) == ((3,), (3, 6))


def test_a_device_refuses_what_the_host_refuses():
    C = gaussian_stack(6, 4).reshape(2, 2, 6, 6)
    C[1, 0, 2, 3] = -C[1, 0, 2, 3]
    for solve in (ang.synchronize, lambda stack: solve_where_it_lies(stack, CALL)):
        with pytest.raises(NotHermitianError, match=r"in problem \(1, 0\), \|C\[2,3\]"):
            solve(C)


def test_what_the_triangles_differ_by_is_in_the_gap_on_a_device():
    C = gaussian_stack(6, 3)
    near = C.copy()
    near[1, 4, 2] *= 1 + 1e-9
    exact, found = (solve_where_it_lies(stack, CALL)[0].gap_bound for stack in (C, near))
    apart = abs(near[1, 4, 2] - C[1, 4, 2])
    assert found[1] >= 2 * apart > 100 * exact[1]
    np.testing.assert_array_equal(found[[0, 2]], exact[[0, 2]])


def test_what_is_left_open_is_trouble():
    """Further starts follow where something is not proved: a stack that converged may not be passed over."""
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((8, 30, 30)) + 1j * rng.standard_normal((8, 30, 30))
    C = noise + np.conj(np.swapaxes(noise, 1, 2))
    result, troubled = solve_where_it_lies(C, CALL)
    assert not result.certified.all()
    assert troubled
    converged, troubled = solve_where_it_lies(C, replace(CALL, certify=False))
    assert troubled == (not converged.converged.all())


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sparse_problems_on_a_device_have_the_pieces_of_the_host(dtype):
    """Rings, whose nodes are far apart, random graphs in one piece or in several; one lower triangle says nothing."""
    n = 140
    rng = np.random.default_rng(4)
    measured = np.triu(rng.random((12, n, n)) < 5 / n, 1)
    measured[:2] = np.triu(np.roll(np.eye(n, dtype=bool), 1, axis=1), 1)
    measured[0, 0, n - 1] = True
    C = gaussian_stack(n, 12) * (measured | measured.swapaxes(1, 2))
    C = C.astype(dtype)
    C[4, 7, 3] *= 1 + 8 * np.finfo(dtype).eps
    result, _ = solve_where_it_lies(C, CALL)
    host = ang.synchronize(C, on_failure="ignore", effort="low")
    np.testing.assert_array_equal(result.components, host.components)
    assert 1 in result.components
    assert (result.components > 1).any()
    np.testing.assert_array_equal(result.status[result.components > 1], host.status[result.components > 1])
    solved = result.certified & host.certified
    assert solved.any()
    np.testing.assert_allclose(result.objective[solved], host.objective[solved], rtol=1e-5)
