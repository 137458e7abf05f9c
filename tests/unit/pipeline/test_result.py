"""The result: derived quantities, text, files, pictures."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError

START = np.ones(4, dtype=complex)


@pytest.fixture(scope="module")
def result():
    return ang.synchronize(ang.simulate.gaussian(30, 0.5, rng=0).C)


@pytest.mark.parametrize("alpha", [0.5, 4.0, np.inf])
def test_rho_is_the_papers(alpha):
    C = ang.simulate.gaussian(20, 1.0, rng=0).C
    start = np.exp(1j * np.arange(20.0))
    stopped = ang.synchronize(
        C, solver=ang.GPM(4.0), start=start, stopping=ang.Stopping(max_iterations=2), on_failure="ignore", certify=False
    )
    shifted = C + (0 if np.isinf(alpha) else 20 / alpha) * np.eye(20)
    sigma = np.diag(np.abs(shifted @ stopped.z)) - shifted
    assert stopped.rho(alpha) == pytest.approx(np.linalg.norm(sigma @ stopped.z), rel=1e-10)


def test_rho_vanishes_at_the_optimum_and_checks_alpha(result):
    assert result.rho(4.0) < 1e-6
    with pytest.raises(InputError, match="alpha must be positive"):
        result.rho(0)


def test_angles_are_in_the_half_open_interval():
    r = ang.synchronize(ang.Measurements([1], [0], [np.pi]))
    assert r.angles[1] == np.pi
    z = np.array([1, -1 - 0j, np.conj(-1 + 0j)])
    assert (dataclasses.replace(r, z=z).angles > -np.pi).all()


def test_the_result_is_frozen(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.objective = 1.0


def test_printing(result):
    text = str(result)
    for part in ("30 nodes", "objective", "CONVERGED", "Proved", "products with C", "because"):
        assert part in text
    assert repr(result).startswith("SyncResult(n=30")
    assert "\n" not in repr(result)


def test_pages_and_pictures(result, tmp_path):
    path = result.to_html(tmp_path / "report.html")
    text = path.read_text(encoding="utf-8")
    assert "CERTIFIED" in text
    assert text.count("<svg") >= 3
    figure = result.plot()
    assert len(figure.axes) >= 3


def test_measurements_of_a_matrix_are_its_upper_triangle_by_rows():
    C = ang.simulate.gaussian(4, 0.5, rng=0).C
    m = ang.synchronize(C).measurements
    assert list(zip(m.i.tolist(), m.j.tolist(), strict=True)) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert m.strength * np.exp(1j * m.angle) == pytest.approx(C[m.i, m.j])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ang.synchronize(np.ones((4, 4))),
        lambda: ang.synchronize(np.ones((4, 4), dtype=np.complex64), certify=False),
        lambda: ang.synchronize(
            np.ones((4, 4)), start=START, stopping=ang.Stopping(max_iterations=0), on_failure="ignore"
        ),
        lambda: ang.synchronize(ang.simulate.grid(4, 4, 0.3, rng=0).measurements, anchors={0: 0.1}),
        lambda: ang.synchronize(ang.simulate.grid(4, 4, 0.3, rng=0).measurements, solver=ang.Robust()),
    ],
)
def test_the_phases_of_a_result_cannot_be_changed_but_those_of_the_caller_can(call):
    result = call()
    with pytest.raises(ValueError, match="read-only"):
        result.z[0] = 1j
    with pytest.raises(ValueError, match="read-only"):
        result.components[0] = 1
    START[0] = 1.0
    np.testing.assert_array_equal(ang.synchronize(np.ones((result.n, result.n)), start=result).z.shape, result.z.shape)


def test_printing_shows_the_phases_first_and_shortens_long_tables(result):
    lines = str(result).splitlines()
    assert lines[1].split() == ["node", "angle", "(rad)", "standard", "error"]
    assert [line.split()[0] for line in lines[2:13]] == ["0", "1", "2", "3", "4", "...", "25", "26", "27", "28", "29"]
    assert lines[2].split()[1:] == ["0.000000", "0"]
    places = [str(result).index(words) for words in ("angle", "CERTIFIED: ", "  proof ", "  method ", "  work ")]
    assert places == sorted(places)
