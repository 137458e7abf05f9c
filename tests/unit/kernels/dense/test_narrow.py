"""Products with the narrow copy: how far their sums are off, and what is said about it."""

from __future__ import annotations

import numpy as np
import pytest
from problems import complex_vector
from reference.narrow import dense, narrow_apply

import angsync as ang
from angsync import kernels
from angsync.kernels.dense.narrow import SEGMENT, NarrowCopy

compiled = pytest.importorskip(
    "angsync.kernels.dense.compiled", reason="the compiled kernels are not built", exc_type=ImportError
)


def test_sums_of_the_narrow_product_are_carried_on_in_double():
    # Terms of equal sign and size, the worst for a long sum in single precision.
    n = 2000
    copy = compiled.dense_inspect(np.ones((n, n), dtype=complex)).narrow
    x = np.full(n, 0.77 + 0j)
    entry = 32767 * float(copy.scale[0, 0])
    exact = ((n - 1) * entry + 1) * 0.77
    with kernels.limited(1):
        error = np.abs(compiled.narrow_apply(copy, x) - exact).max() / exact
    assert error < copy.rounding
    # 512 terms at a time: what one long sum over all rows would be off by is several times that
    term = np.float32(32767) * (copy.scale[0, 0] * np.float32(0.77))
    long = np.add.accumulate(np.full(n, term, dtype=np.float32), dtype=np.float32)[-1]
    assert error < 0.5 * abs(float(long) / exact - 1)


@pytest.mark.parametrize("threads", [1, 3])
def test_nothing_is_lost_where_sums_are_carried_on(threads):
    n = 2100  # carried on four times by one thread, and once by each of three
    C, x = ang.simulate.gaussian(n, 3.0, rng=0).C, complex_vector(n)
    copy = compiled.dense_inspect(C).narrow
    with kernels.limited(threads):
        found = compiled.narrow_apply(copy, x)
    assert (np.abs(found - narrow_apply(copy, x)) <= copy.rounding * (np.abs(C) @ np.abs(x))).all()


def test_the_rounding_of_the_narrow_product_grows_with_its_shape_and_not_with_n():
    C = np.eye(500, dtype=complex)
    copy = compiled.dense_inspect(C).narrow
    # two terms of every row, 512 of which are carried on; 3 segments (the fourth begins), 64 beside them
    assert copy.rounding == pytest.approx(2**0.5 * (512 + 3 + 64) * 2.0**-24, rel=1e-3)
    shorter = NarrowCopy(200, copy.blocks, copy.scale, copy.diagonal)
    assert shorter.rounding == pytest.approx(2**0.5 * (2 * 200 + 1 + 64) * 2.0**-24, rel=1e-3)
    longer = NarrowCopy(12_800, copy.blocks, copy.scale, copy.diagonal)
    assert longer.rounding == pytest.approx(2**0.5 * (512 + 100 + 64) * 2.0**-24, rel=1e-3)


needs_compiled = pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")


@needs_compiled
@pytest.mark.parametrize("size", [1e-40, 1e-36, 1.1e-35, 3e-35, 1e-34, 3.9e-34, 5e-34])
def test_entries_too_small_for_a_float_are_inside_the_bound(size):
    from angsync.kernels.dense import compiled as dense_compiled

    n = 130
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(-1, 1, (n, n)) + 1j * rng.uniform(-1, 1, (n, n)), 1)
    # rows of many sizes, so that some of the scales are rounded badly where they are no normal floats
    upper *= size * rng.uniform(0.9, 1.1, (n, 1))
    upper[0] = 0
    C = upper + upper.conj().T
    copy = dense_compiled.dense_inspect(C, narrow=True).narrow
    error = dense(copy) - C
    # the 2-norm, by a scale at which its squares do not underflow
    assert np.linalg.norm(error * 1e34, 2) <= copy.distance * 1e34
    units = np.repeat(copy.scales, SEGMENT, axis=1)[:, :n]
    parts = np.maximum(np.abs(error.real), np.abs(error.imag))
    # half a unit and the rounding of a scale to a normal float; without a scale, all of it
    assert (np.triu(parts, 1) <= np.where(units > 0, units * 0.5 * (1 + 2.0**-7), 4e-34)).all()
