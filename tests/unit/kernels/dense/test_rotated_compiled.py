"""Re(Z^H C Z) of a dense C as one real triangle: what it holds, when it is made, and that Newton ends where it did."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys

import numpy as np
import pytest
from problems import Products, hermitian, phases
from reference.narrow import dense

import angsync as ang
from angsync import kernels
from angsync.kernels.dense import rotated_reference as reference
from angsync.kernels.dense.narrow import SEGMENT
from angsync.problem.operators import CountingOperator, Operator, ScaledOperator, as_operator
from angsync.solvers import tangent
from angsync.solvers.loop import iterate
from angsync.solvers.stopping import Stopping
from angsync.solvers.tangent import TangentHessian

try:
    from angsync.kernels.dense import compiled as dense_compiled
    from angsync.kernels.dense import rotated_compiled, source
except ImportError:
    dense_compiled = rotated_compiled = source = None

built = pytest.mark.skipif(rotated_compiled is None, reason="the compiled kernels are not built")
active = pytest.mark.skipif(not kernels.COMPILED, reason="the NumPy kernels were asked for")
ORDERS = (48, 49, 50, 51, 97, 130, 601)  # every remainder by four, one segment and several
NEVER = {True: -1, False: -1}
PARALLEL = [
    (source, "_NARROW_THREADS_FROM"),
    (rotated_compiled, "_NARROW_THREADS_FROM"),
    (rotated_compiled, "_THREADS_FROM"),
]


def real(n, seed=2):
    return np.random.default_rng(seed).standard_normal(n)


def lopsided(n):
    """Rows and blocks of very different size, and one that vanishes."""
    C = hermitian(n)
    size = np.ones(n)
    size[n // 2 :] = 1e-3
    size[n // 3] = 0
    return size[:, None] * C * size


def test_the_formula():
    C, z = hermitian(30), phases(30)
    R = (np.conj(z)[:, None] * C * z).real
    found = reference.rotated(C, None, z)
    assert np.allclose(np.stack([found.product(e) for e in np.eye(30)]), R)
    assert np.allclose(R, R.T)
    assert reference.rotated(C, None, z.astype(np.complex64)) is None


@built
@pytest.mark.parametrize("n", ORDERS)
def test_every_entry_of_the_narrow_triangle(n):
    C, z = lopsided(n), phases(n)
    copy = dense_compiled.dense_inspect(C, narrow=True).narrow
    triangle = rotated_compiled.NarrowTriangle(copy, z)
    found = np.stack([triangle.product(e) for e in np.eye(n)], axis=1)
    exact = (np.conj(z)[:, None] * dense(copy) * z).real
    # the same number times its scale, rounded once on either side of the diagonal
    assert (np.abs(found - found.T) <= 2.0**-23 * np.abs(found)).all()
    assert np.array_equal(found.diagonal(), copy.diagonal)
    upper = np.triu(np.abs(exact), 1)
    padded = np.zeros((n, -(-n // SEGMENT) * SEGMENT))
    padded[:, :n] = upper
    units = padded.reshape(n, -1, SEGMENT).max(axis=2) / 32767
    # half a unit of the largest entry of the row in its segment; the phases are rounded to single precision (2^-24,
    # some in each entry), which moves an entry by 2^-20 of the largest one, a thirtieth of a unit
    bound = np.repeat(units, SEGMENT, axis=1)[:, :n] * (0.5 + 1 / 30)
    assert (np.triu(np.abs(found - exact), 1) <= bound).all()
    assert (found[n // 3] == 0).all()


@built
@pytest.mark.parametrize("n", ORDERS)
def test_products_with_the_narrow_triangle(n):
    C, z, t = hermitian(n), phases(n), real(n)
    copy = dense_compiled.dense_inspect(C, narrow=True).narrow
    triangle = rotated_compiled.NarrowTriangle(copy, z)
    entries = np.stack([triangle.product(e) for e in np.eye(n)], axis=1)
    # sums of n terms in single precision, 2^-24 each
    assert np.abs(triangle.product(t) - entries @ t).max() <= n * 2.0**-24 * (np.abs(entries) @ np.abs(t)).max()


@built
@pytest.mark.parametrize("n", ORDERS)
def test_the_triangle_in_the_precision_of_the_matrix(n):
    C, z, t = lopsided(n), phases(n), real(n)
    full = C.copy()
    full[np.tril_indices(n, -1)] = np.nan  # only the upper triangle may be read
    exact = reference.RotatedMatrix(C, z).product(t)
    size = np.abs(C) @ np.abs(t)
    y = rotated_compiled.WideTriangle(full, z).product(t)
    # an entry takes 6 operations, a sum n of them
    assert (np.abs(y - exact) <= (n + 8) * 2.0**-52 * size).all()
    y = rotated_compiled.WideTriangle(full.astype(np.complex64), z.astype(np.complex64)).product(t)
    assert (np.abs(y - exact) <= (n + 8) * 2.0**-23 * size).all()


@built
@pytest.mark.parametrize("count", ["1", "2", "3"])
def test_the_same_bits_for_the_same_number_of_threads(count, monkeypatch):
    for module, name in PARALLEL:
        monkeypatch.setattr(module, name, 600)
    monkeypatch.setenv("ANGSYNC_NUM_THREADS", count)
    C, z, t = hermitian(603), phases(603), real(603)
    copy = dense_compiled.dense_inspect(C).narrow
    for made in (lambda: rotated_compiled.NarrowTriangle(copy, z), lambda: rotated_compiled.WideTriangle(C, z)):
        first, again = made(), made()
        assert np.array_equal(first.product(t), again.product(t))
        assert np.array_equal(first.product(t), first.product(t))
        assert np.allclose(first.product(t), (np.conj(z) * (C @ (z * t))).real, atol=1e-2)


@built
def test_fewer_threads_than_asked_for():
    # OpenMP grants one of the three: it does the shares of all, and the bits are those of three
    code = (
        "import sys, numpy as np\n"
        "from angsync.kernels.dense import compiled as dense_compiled, rotated_compiled, source\n"
        "rotated_compiled._THREADS_FROM = 600\n"
        "rotated_compiled._NARROW_THREADS_FROM = source._NARROW_THREADS_FROM = 600\n"
        "rng = np.random.default_rng(0)\n"
        "A = rng.standard_normal((603, 603)) + 1j * rng.standard_normal((603, 603))\n"
        "C, t = A + A.conj().T, rng.standard_normal(603)\n"
        "z = np.exp(1j * t)\n"
        "copy = dense_compiled.dense_inspect(C).narrow\n"
        "made = rotated_compiled.NarrowTriangle(copy, z), rotated_compiled.WideTriangle(C, z)\n"
        "sys.stdout.buffer.write(b''.join(m.product(t).tobytes() for m in made))\n"
    )
    said = []
    for limit in ("3", "1"):
        environment = {**os.environ, "ANGSYNC_NUM_THREADS": "3", "OMP_THREAD_LIMIT": limit}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, check=True, timeout=120
        )
        said.append(hashlib.sha256(done.stdout).hexdigest())
        assert len(done.stdout) == 2 * 603 * 8
    assert said[0] == said[1]


@active
@pytest.mark.parametrize("noise", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("n", [420, 1000])
def test_the_accuracy_is_what_it_says(n, noise):
    C = ang.simulate.gaussian(n, noise * math.sqrt(n), rng=0).C
    operator, z, t = as_operator(C), phases(n), real(n)
    exact = (np.conj(z) * (C @ (z * t))).real
    hessian = TangentHessian(operator, z, C @ z, narrow=True)
    assert hessian.accuracy == tangent._NARROW_ACCURACY
    for _ in range(10):
        error = hessian.product(t) - (hessian.s * t - exact)
        # squared, and relative to the part of the product that is not exact
        assert np.sum(error**2) <= hessian.accuracy * np.sum(exact**2)
    assert hessian._triangle is not None


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("n", [120, 450])
def test_made_after_a_few_products_and_counted(n, narrow, monkeypatch):
    C, z, t = hermitian(n), phases(n), real(n)
    scaled = ScaledOperator(CountingOperator(as_operator(C)), 5)
    made = []
    original = Operator.rotated_product
    monkeypatch.setattr(
        Operator, "rotated_product", lambda *a, **k: made.append(scaled.base.products) or original(*a, **k)
    )
    hessian = TangentHessian(scaled, z, C @ z / 32, narrow=narrow)
    exact = ((np.conj(z) * (C @ z)).real * t - (np.conj(z) * (C @ (z * t))).real) / 32
    rough = hessian._narrow is not None
    for k in range(15):
        assert np.allclose(hessian.product(t), exact, atol=(1e-3 if rough else 1e-12) * np.abs(exact).max())
        assert scaled.base.products == k + 1
    assert made == [tangent._TRIANGLE_AFTER[rough]]
    assert hessian._triangle is not None


def test_in_single_precision():
    n = 120
    C, z, t = hermitian(n).astype(np.complex64), phases(n).astype(np.complex64), real(n)
    hessian = TangentHessian(as_operator(C), z, C @ z)
    before = hessian.product(t)
    for _ in range(12):
        after = hessian.product(t)
    assert hessian._triangle is not None
    assert np.abs(after - before).max() <= 4 * n * 2.0**-24 * (np.abs(C) @ np.abs(t)).max()


def test_where_there_is_none():
    C, z, t = hermitian(60), phases(60), real(60)
    assert (
        as_operator(ang.simulate.grid(5, 5, 0.1, rng=0).measurements).rotated_product(phases(25), narrow=True) is None
    )
    assert ScaledOperator(as_operator(C), 900).rotated_product(z, narrow=False) is None
    # products of other kinds of operators go on as before
    kinds = ((ScaledOperator(as_operator(1e300 * C), 997), 1e300 * 2.0**-997), (as_operator(Products(C)), 1.0))
    for operator, size in kinds:
        hessian = TangentHessian(operator, z, size * (C @ z))
        exact = size * ((np.conj(z) * (C @ z)).real * t - (np.conj(z) * (C @ (z * t))).real)
        for _ in range(12):
            assert np.allclose(hessian.product(t), exact, rtol=1e-10, atol=1e-11 * np.abs(exact).max())
        assert hessian._triangle is None


@pytest.mark.parametrize("solver", [ang.Newton(), ang.AcceleratedGPM()])
@pytest.mark.parametrize(("n", "noise"), [(120, 0.5), (120, 0.8), (450, 0.5), (450, 0.7)])
def test_the_same_point_as_without_it(solver, n, noise, monkeypatch):
    C = ang.simulate.gaussian(n, noise * math.sqrt(n), rng=1).C
    z = np.exp(1j * np.angle(C[:, 0]))
    made = []
    original = Operator.rotated_product
    monkeypatch.setattr(Operator, "rotated_product", lambda *a, **k: made.append(1) or original(*a, **k))
    found = iterate(as_operator(C), solver, z, Stopping(max_iterations=300))
    if isinstance(solver, ang.Newton):
        assert made
    monkeypatch.setattr(tangent, "_TRIANGLE_AFTER", NEVER)
    made.clear()
    expected = iterate(as_operator(C), solver, z, Stopping(max_iterations=300))
    assert not made
    assert found.status is expected.status
    assert found.objective == pytest.approx(expected.objective, rel=1e-13)
    # both have a residual of 1e-10 or less; the distance is that times the condition of the Hessian, a thousand or so
    assert ang.distance(found.z, expected.z) < 1e-6
