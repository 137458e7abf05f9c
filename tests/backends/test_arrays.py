"""Arrays of other libraries: recognized without an import, in and out without a copy, through the front door."""

import subprocess
import sys

import numpy as np
import pytest

import angsync as ang
from angsync.batch.on_device import solve_batch_on_device
from angsync.errors import DisconnectedWarning, InputError, NotFiniteError, NotHermitianError, ShapeError
from angsync.kernels.batch.numbers import ITERATION_LIMIT, NOT_FINITE, chirp
from angsync.kernels.cuda import reference as cuda_reference
from angsync.problem import array_libraries as _arrays
from angsync.problem.operators.device import DeviceOperator, device_operator
from angsync.simulate import gaussian
from angsync.solvers.on_device import solve_on_device
from angsync.testing import check_operator


def _jax():
    jax = pytest.importorskip("jax")
    return lambda array: jax.device_put(array, jax.devices("cpu")[0])


def _torch():
    torch = pytest.importorskip("torch")
    return lambda array: torch.from_numpy(np.array(array))


def _strict():
    return pytest.importorskip("array_api_strict").asarray


def _numpy():
    return np.asarray


# each makes its arrays in the memory of the host
MAKERS = {"numpy": _numpy, "jax": _jax, "torch": _torch, "strict": _strict}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]()


@pytest.fixture
def C():
    return gaussian(30, 0.8, rng=3).C.astype(np.complex64)


def test_nothing_is_imported():
    code = (
        "import sys, numpy as np, angsync as ang; from angsync.problem import array_libraries as _arrays;"
        "ang.synchronize(np.ones((3, 3))); assert not _arrays.is_foreign([[1]]);"
        "print([m for m in ('cupy', 'torch', 'jax') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("data", [[[1.0]], "C", None, 3.0, np.float64(2)])
def test_what_is_no_foreign_array(data):
    assert not _arrays.is_foreign(data)
    assert not _arrays.on_cuda(data)


def test_other_things_of_an_array_library_are_no_arrays():
    assert _arrays.library_of(np.ones(2)) == "numpy"
    assert _arrays.library_of(np.random.default_rng(0)) is None


def test_a_namespace_needs_an_array():
    with pytest.raises(InputError, match="list is not an array"):
        _arrays.namespace([1, 2])


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_there_and_back(make, name):
    like = make(np.ones(2, dtype=np.complex64))
    numbers = np.array([1 + 2j, 3 - 4j], dtype=name)
    with _arrays.double_precision(like):
        moved = _arrays.from_numpy(numbers, like)
        assert type(moved) is type(like)
        assert _arrays.dtype_name(moved) == name
        np.testing.assert_array_equal(_arrays.to_numpy(moved), numbers)
        single = _arrays.as_type(moved, "complex64")
    assert type(single) is type(like)
    assert _arrays.dtype_name(single) == "complex64"


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_reading_host_memory_does_not_copy(library):
    array = MAKERS[library]()(np.arange(4, dtype=np.complex64))
    first, second = _arrays.to_numpy(array), _arrays.to_numpy(array)
    assert np.shares_memory(first, second)


def test_conjugate_views_of_torch_are_resolved():
    torch = pytest.importorskip("torch")
    lazy = torch.tensor([1 + 2j, 3 - 1j]).conj()
    np.testing.assert_array_equal(_arrays.to_numpy(lazy), np.array([1 - 2j, 3 + 1j], dtype=np.complex64))


def test_an_operator_on_any_library(make, C):
    operator = device_operator(make(C))
    check_operator(operator)
    dense = ang.as_operator(C)
    np.testing.assert_allclose(operator.abs_row_sums(), dense.abs_row_sums(), rtol=1e-12)
    np.testing.assert_array_equal(operator.to_dense(), C)
    wide = np.exp(1j * np.arange(30))
    # sums in double precision of the same single precision entries: 30 terms, a few units of 2.2e-16 each
    np.testing.assert_allclose(operator.apply(wide), C.astype(complex) @ wide, rtol=0, atol=1e-12)
    part = np.array([4, 1, 17])
    np.testing.assert_array_equal(operator.restrict(part).to_dense(), C[np.ix_(part, part)])
    bare = operator.without_diagonal().to_dense()
    np.testing.assert_array_equal(bare, C - np.diag(np.diag(C)))
    assert not operator.is_real()
    assert device_operator(make(C.real.copy())).is_real()


def test_components_on_any_library(make, C):
    blocks = np.zeros((30, 30), dtype=np.complex64)
    blocks[:12, :12], blocks[12:, 12:] = C[:12, :12], C[12:, 12:]
    labels = device_operator(make(blocks)).component_labels()
    np.testing.assert_array_equal(labels, np.repeat([0, 1], [12, 18]))


@pytest.mark.parametrize("triangle", ["upper", "lower"])
def test_one_triangle_is_filled(make, C, triangle):
    given = np.triu(C) if triangle == "upper" else np.tril(C)
    np.testing.assert_array_equal(device_operator(make(given), triangle).to_dense(), C)


def test_mistakes_are_found_on_the_device(make, C):
    wrong = C.copy()
    wrong[5, 8] += 0.5
    with pytest.raises(NotHermitianError, match=r"C\[5,8\]"):
        device_operator(make(wrong))
    wrong = C.copy()
    wrong[7, 2] = np.nan
    with pytest.raises(NotFiniteError, match=r"C\[7,2\]"):
        device_operator(make(wrong))
    with pytest.raises(ShapeError, match="square"):
        device_operator(make(C[:4]))
    huge = np.full((3, 3), 1e38, dtype=np.complex64)
    with pytest.raises(InputError, match="overflow"):
        device_operator(make(huge))


def test_where_triangles_differ_by_rounding_the_upper_one_is_the_problem(make, C):
    near = C.copy()
    near[8, 5] += np.float32(1e-6)
    operator = device_operator(make(near))
    np.testing.assert_array_equal(operator.to_dense(), C)
    np.testing.assert_allclose(operator.apply(np.ones(30)), C.sum(axis=1), atol=1e-5)


def test_the_limit_of_rounding_is_relative_to_the_entries_compared(make, C):
    """Entries 1 and -1 beside one of 1e9: off by rounding in a row of such entries, and a mistake elsewhere."""
    large = C.astype(np.complex128)
    large[0, 1] = large[1, 0] = 1e9
    large[1, 2], large[2, 1] = 1, -1
    with pytest.raises(NotHermitianError, match=r"C\[1,2\]"):
        device_operator(make(large))
    computed = large.copy()
    computed[0, 2] = computed[2, 0] = 1e9
    computed[1, 2], computed[2, 1] = 1e-6, -1e-6
    assert device_operator(make(computed)).to_dense()[2, 1] == 1e-6


def test_the_loop_on_any_library(make, C):
    array = make(C)
    found = solve_on_device(array, tolerance=1e-9, max_iterations=200)
    assert type(found.z) is type(array)
    assert found.status == 0
    assert found.products == 10 + found.iterations + 1 == 10 + found.objective.size
    best = ang.synchronize(C.astype(np.complex128)).objective
    # at a residual of 1e-9 the objective is off by its square
    assert found.objective[-1] == pytest.approx(best, rel=1e-12)


def test_the_loop_starts_where_it_is_told(make, C):
    answer = ang.synchronize(C.astype(np.complex128)).z
    found = solve_on_device(make(C), make(answer.astype(np.complex64)), tolerance=1e-5, max_iterations=5, power_steps=0)
    assert found.iterations == 0
    with pytest.raises(InputError, match="0 or more"):
        solve_on_device(make(C), tolerance=1e-5, max_iterations=-1)


def test_a_batch_on_any_library(make, C):
    stack = np.stack([C, 2 * C, C, np.zeros_like(C)]).reshape(2, 2, 30, 30)
    stack[1, 0, 3, 4] = np.nan
    given = make(stack)
    found = solve_batch_on_device(given, tolerance=1e-4, max_iterations=100)
    assert all(type(array) is type(given) for array in found.values())
    numbers = {name: _arrays.to_numpy(array) for name, array in found.items()}
    assert numbers["z"].shape == (2, 2, 30)
    assert numbers["iterations"].dtype == np.int32
    np.testing.assert_array_equal(numbers["status"], [[0, 0], [NOT_FINITE, 0]])
    assert np.isnan(numbers["z"][1, 0]).all()
    assert np.isnan(numbers["objective"][1, 0])
    best = ang.synchronize(C.astype(np.complex128)).objective
    # single precision sums of 900 terms: 900 * 6e-8 = 5e-5 at the very worst, 1e-6 as rounding adds up
    np.testing.assert_allclose(numbers["objective"][0], [best, 2 * best], rtol=1e-6)
    assert numbers["objective"][1, 1] == 0


def test_a_large_batch_is_solved_in_chunks(make, C, monkeypatch):
    monkeypatch.setattr("angsync.batch.on_device._CHUNK_ENTRIES", 1800)
    stack = np.stack([(k + 1) * C for k in range(5)])
    options = {"tolerance": 0.0, "max_iterations": 1, "power_steps": 0}
    whole = cuda_reference.solve_batch(stack, fixed_start=chirp(30), **options)
    parts = solve_batch_on_device(make(stack), **options)
    for name, array in whole.items():
        np.testing.assert_allclose(_arrays.to_numpy(parts[name]), array, rtol=1e-4, atol=1e-4)
    assert (whole["status"] == ITERATION_LIMIT).all()


def test_a_batch_that_is_none():
    with pytest.raises(ShapeError, match="stack of square"):
        solve_batch_on_device(np.ones((3, 3), dtype=np.complex64))
    with pytest.raises(InputError, match="complex64 or complex128"):
        solve_batch_on_device(np.ones((2, 3, 3)))
    with pytest.raises(InputError, match="0 or more"):
        solve_batch_on_device(np.ones((2, 3, 3), dtype=np.complex64), tolerance=-1.0)


@pytest.mark.parametrize("library", ["jax", "torch"])
def test_the_front_door_gives_the_same_kind_back(library, C):
    make = MAKERS[library]()
    array = make(C)
    result, plain = ang.synchronize(array), ang.synchronize(C)
    assert type(result.z) is type(array)
    assert _arrays.dtype_name(result.z) == "complex64"
    np.testing.assert_array_equal(result.phases, plain.z)
    np.testing.assert_array_equal(result.angles, plain.angles)
    assert result.n == 30
    assert result.standard_errors().shape == (30,)
    again = ang.synchronize(array, start=result)
    assert again.iterations == 0
    assert ang.synchronize(array, start=result.z).iterations == 0
    assert ang.certify(array, plain.z).verdict is ang.Verdict.CERTIFIED


def test_every_solver_works_on_a_device_operator(make, C):
    operator = DeviceOperator(make(C.astype(np.complex64)))
    result = ang.synchronize(operator, solver=ang.GPM(alpha=np.inf))
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.objective == pytest.approx(ang.synchronize(C).objective, rel=1e-6)


def test_the_device_start_leads_to_the_same_answer(C, monkeypatch):
    """What a CUDA array goes through, with a host array in its place."""
    jax = pytest.importorskip("jax")
    monkeypatch.setattr("angsync.pipeline.foreign.on_cuda", lambda array: True)
    array = jax.device_put(C, jax.devices("cpu")[0])
    result = ang.synchronize(array, stopping=ang.Stopping(max_seconds=60))
    plain = ang.synchronize(C)
    assert type(result.z) is type(array)
    assert "power steps" in result.method
    assert result.matvecs > 10
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert result.objective == pytest.approx(plain.objective, rel=1e-7)
    literal = ang.synchronize(array, solver=ang.GPM(alpha=np.inf))
    assert "power steps" not in literal.method


def _as_on_cuda(monkeypatch):
    """Host arrays of JAX taken for CUDA arrays: the code is the same."""
    jax = pytest.importorskip("jax")
    for module in ("pipeline.foreign", "batch.stack"):
        monkeypatch.setattr(f"angsync.{module}.on_cuda", lambda array: True)
    return lambda array: jax.device_put(array, jax.devices("cpu")[0])


def test_entries_of_a_device_matrix_when_they_are_asked_for(C, monkeypatch):
    make = _as_on_cuda(monkeypatch)
    result, plain = ang.synchronize(make(C)), ang.synchronize(C)
    # the same Fisher information at phases that agree to the tolerance of single precision
    np.testing.assert_allclose(result.standard_errors(), plain.standard_errors(), rtol=1e-4)
    np.testing.assert_array_equal(result.measurements.angle, plain.measurements.angle)
    triangle = ang.synchronize(make(np.triu(C)), hermitian="upper")
    np.testing.assert_array_equal(triangle.measurements.angle, plain.measurements.angle)


def test_anchors_of_a_device_matrix(C, monkeypatch):
    make = _as_on_cuda(monkeypatch)
    result, plain = ang.synchronize(make(C), anchors={0: 0.3}), ang.synchronize(C, anchors={0: 0.3})
    assert type(result.z) is type(make(C))
    np.testing.assert_array_equal(result.phases, plain.z)


def test_a_stack_on_a_device_has_certificates(C, monkeypatch):
    make = _as_on_cuda(monkeypatch)
    stack = np.stack([C[:8, :8], 2 * C[:8, :8], np.zeros((8, 8), dtype=np.complex64)])
    with pytest.warns(DisconnectedWarning, match="1 without any measurement"):
        result = ang.synchronize(make(stack))
    assert type(result.z) is type(result.gap_bound) is type(result.certified) is type(make(C))
    host = ang.synchronize(stack, on_failure="ignore")
    found = result.on_host()
    assert all(isinstance(array, np.ndarray) for array in (found.z, found.verdict, found.angles))
    np.testing.assert_array_equal(found.certified, [True, True, False])
    np.testing.assert_array_equal(found.status, host.status)
    np.testing.assert_array_equal(found.components, host.components)
    np.testing.assert_allclose(found.objective, host.objective, rtol=1e-6)
    np.testing.assert_allclose(_arrays.to_numpy(result.angles), found.angles, atol=1e-6)
    # each is a proved bound below the same eigenvalue
    assert (found.lambda_2[:2] > 0).all()
    assert ang.synchronize(make(stack[:2]), certify=False).verdict is None
