"""The result: derived quantities, text, files, pictures."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import angsync as ang
from angsync.errors import DisconnectedWarning, InputError


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
    for part in ("30 nodes", "objective", "CONVERGED", "Proved", "products with C: ", "because"):
        assert part in text
    assert repr(result).startswith("SyncResult(n=30")
    assert "\n" not in repr(result)


@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_save_and_load(result, tmp_path, suffix):
    path = tmp_path / f"result.{suffix}"
    result.save(path)
    back = ang.load_result(path)
    assert np.abs(back.z - result.z).max() < 1e-15
    assert back.status is result.status
    for name in (
        "objective",
        "residual",
        "iterations",
        "matvecs",
        "seconds",
        "message",
        "method",
        "gauge",
        "tolerance",
    ):
        assert getattr(back, name) == getattr(result, name)
    for field in dataclasses.fields(result.certificate):
        assert getattr(back.certificate, field.name) == getattr(result.certificate, field.name)
    assert back.components.tolist() == result.components.tolist()
    if suffix == "npz":
        assert np.array_equal(back.z, result.z)
        assert np.array_equal(back.history.residual, result.history.residual)
    with pytest.raises(InputError, match="loaded from"):
        back.standard_errors()
    with pytest.raises(InputError, match="loaded from"):
        back.rho()
    assert ang.certify(ang.simulate.gaussian(30, 0.5, rng=0).C, back.z).verdict is ang.Verdict.CERTIFIED


@pytest.mark.parametrize("suffix", ["npz", "csv"])
def test_save_keeps_labels_components_witness_and_precision(tmp_path, suffix):
    with pytest.warns(DisconnectedWarning):
        r = ang.synchronize(ang.Measurements(["a", "b", "x"], ["b", "c", "y"], [0.1, 0.2, 0.3]), gauge="b")
    r.save(tmp_path / f"r.{suffix}")
    back = ang.load_result(tmp_path / f"r.{suffix}")
    assert back.labels == ("a", "b", "c", "x", "y")
    assert back.components.tolist() == [0, 0, 0, 1, 1]
    assert back.gauge == "b"
    twisted = np.exp(2j * np.pi * np.arange(30) / 30)
    ring = ang.simulate.ring(30, truth=np.ones(30), rng=0).C
    refuted = ang.synchronize(ring, solver=ang.GPM(4.0), start=twisted)
    refuted.save(tmp_path / f"w.{suffix}")
    back = ang.load_result(tmp_path / f"w.{suffix}")
    assert back.certificate.verdict is ang.Verdict.REFUTED
    if suffix == "npz":
        assert np.array_equal(back.certificate.witness, refuted.certificate.witness)
        single = ang.synchronize(np.ones((3, 3), dtype=np.complex64))
        single.save(tmp_path / "s.npz")
        assert ang.load_result(tmp_path / "s.npz").z.dtype == np.complex64


def test_one_node_and_no_certificate_survive_a_file(tmp_path):
    one = ang.synchronize([[1.0]])
    one.save(tmp_path / "one.npz")
    assert ang.load_result(tmp_path / "one.npz").certificate.lambda_2 == np.inf
    plain = ang.synchronize(np.ones((3, 3)), certify=False)
    plain.save(tmp_path / "plain.csv")
    assert ang.load_result(tmp_path / "plain.csv").certificate is None


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


def test_a_file_of_phases_is_not_a_result(tmp_path):
    (tmp_path / "edges.csv").write_text("i,j,angle\n0,1,0.5\n")
    with pytest.raises(ang.errors.FileFormatError, match="not a saved result"):
        ang.load_result(tmp_path / "edges.csv")
