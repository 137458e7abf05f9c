"""Coherence matrices over windows: against the definition, and the compiled kernel against NumPy."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from angsync import kernels
from angsync.kernels.batch import looks_reference
from angsync.kernels.batch.looks_reference import Region, Window


def images(n=5, rows=9, columns=40, kind=np.complex128, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, rows, columns)) + 1j * rng.standard_normal((n, rows, columns))
    x[1, 2, 3], x[2, 4, 5], x[0, 0, 0] = np.nan, 0, np.inf
    return x.astype(kind)


def made_by(kernel, x, window, region, out=None):
    region = Region(*region)
    count = (region.last_row - region.first_row) * (region.last_column - region.first_column)
    C, looks = np.empty((count, len(x), len(x)), x.dtype), np.empty(count, np.int32)
    kernel(x, out, Window.of(*window), region, C, looks)
    return C, looks


def test_the_definition_with_what_is_missing_left_out():
    x = images()
    out = np.zeros(x.shape[1:], dtype=bool)
    out[4, 4] = True
    (C,), (looks,) = made_by(looks_reference.coherence, x, (3, 5), (4, 5, 4, 5), out)
    part = x[:, 3:6, 2:7].copy()
    part[:, 1, 2] = 0
    flat = part.reshape(5, -1)
    S = flat @ flat.conj().T
    np.testing.assert_allclose(C, S / np.sqrt(np.outer(np.diag(S).real, np.diag(S).real)), atol=1e-14)
    assert looks == 13  # 15 pixels, one masked, one zero at date 2


def test_windows_are_cut_off_at_the_edges_and_of_even_size_reach_further_down():
    assert Window.of(4, 1) == (1, 2, 0, 0)
    _, looks = made_by(looks_reference.coherence, np.ones((2, 6, 7), complex), (4, 3), (0, 6, 0, 7))
    np.testing.assert_array_equal(looks.reshape(6, 7)[:, 3], [9, 12, 12, 12, 9, 6])
    np.testing.assert_array_equal(looks.reshape(6, 7)[2], [8, 12, 12, 12, 12, 12, 8])


def test_a_date_without_samples_is_zero_on_the_diagonal():
    x = images(3, 5, 6)
    x[1] = np.nan
    C, looks = made_by(looks_reference.coherence, x, (3, 3), (1, 2, 1, 2))
    np.testing.assert_array_equal(np.diagonal(C[0]).real, [1, 0, 1])
    assert looks[0] > 0
    nothing, none = made_by(looks_reference.coherence, np.zeros((3, 4, 4), complex), (3, 3), (1, 2, 1, 2))
    assert not nothing.any()
    assert none[0] == 0


def test_phases_that_fit_agree_and_others_do_not():
    z = np.exp(1j * np.array([[0.1, 2.0, -1.0], [0.0, 1.0, 2.0]]))
    C = 0.3 * z[:, :, None] * z.conj()[:, None, :]
    np.testing.assert_allclose(looks_reference.agreement(C, z), 1)
    first = abs(np.exp(-1.9j) + np.exp(1.1j) + np.exp(3j)) / 3
    second = abs(2 * np.exp(1j) + np.exp(2j)) / 3
    np.testing.assert_allclose(looks_reference.agreement(C, np.ones_like(z)), [first, second])
    assert np.isnan(looks_reference.agreement(C, np.full_like(z, np.nan))).all()


@pytest.mark.skipif(not kernels.COMPILED, reason="the kernels are not compiled")
@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_the_compiled_kernels_do_the_same(kind):
    from angsync.kernels.batch import looks_compiled

    x = images(7, 12, 71, kind)
    out = np.random.default_rng(1).random(x.shape[1:]) < 0.1
    for window, region, hidden in (
        ((3, 5), (0, 12, 0, 71), out),
        ((4, 2), (2, 9, 30, 66), None),
        ((1, 1), (0, 2, 0, 5), out),
    ):
        C, looks = made_by(looks_compiled.coherence, x, window, region, hidden)
        expected, counted = made_by(looks_reference.coherence, x, window, region, hidden)
        np.testing.assert_allclose(C, expected, atol=3e-7 if kind == np.complex64 else 1e-14)
        np.testing.assert_array_equal(looks, counted)
    z = np.exp(1j * np.random.default_rng(2).random((len(C), 7))).astype(kind)
    z[1], z[2, 3] = np.nan, np.nan
    np.testing.assert_allclose(looks_compiled.agreement(C, z), looks_reference.agreement(C, z), atol=1e-6)


@pytest.mark.skipif(not kernels.COMPILED, reason="the kernels are not compiled")
def test_the_structs_have_the_size_that_c_thinks():
    from angsync.kernels.batch.looks_compiled import AgreementCall, LooksCall
    from angsync.kernels.library import SIZE, function

    assert ctypes.sizeof(LooksCall) == function("looks_call_size", returns=SIZE)()
    assert ctypes.sizeof(AgreementCall) == function("agreement_call_size", returns=SIZE)()
