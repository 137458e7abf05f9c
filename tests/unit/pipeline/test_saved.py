"""Results in files and back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import angsync as ang
from angsync.errors import DisconnectedWarning, InputError


@pytest.fixture(scope="module")
def result():
    return ang.synchronize(ang.simulate.gaussian(30, 0.5, rng=0).C)


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


def test_a_file_of_phases_is_not_a_result(tmp_path):
    (tmp_path / "edges.csv").write_text("i,j,angle\n0,1,0.5\n")
    with pytest.raises(ang.errors.FileFormatError, match="not a saved result"):
        ang.load_result(tmp_path / "edges.csv")
