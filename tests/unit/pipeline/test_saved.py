"""Results in files and back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import angsync as ang
from angsync.errors import DisconnectedWarning, FileFormatError, InputError
from angsync.io.result_file import save_fields


@pytest.fixture(scope="module")
def result():
    return ang.synchronize(ang.simulate.gaussian(30, 0.5, rng=0).C)


def test_save_and_load(result, tmp_path):
    path = tmp_path / "result.npz"
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
    assert np.array_equal(back.z, result.z)
    assert np.array_equal(back.history.residual, result.history.residual)
    with pytest.raises(InputError, match="loaded from"):
        back.standard_errors()
    with pytest.raises(InputError, match="loaded from"):
        back.rho()
    assert ang.certify(ang.simulate.gaussian(30, 0.5, rng=0).C, back.z).verdict is ang.Verdict.CERTIFIED


def test_save_keeps_labels_components_witness_and_precision(tmp_path):
    with pytest.warns(DisconnectedWarning):
        r = ang.synchronize(ang.Measurements(["a", "b", "x"], ["b", "c", "y"], [0.1, 0.2, 0.3]), gauge="b")
    r.save(tmp_path / "r.npz")
    back = ang.load_result(tmp_path / "r.npz")
    assert back.labels == ("a", "b", "c", "x", "y")
    assert back.components.tolist() == [0, 0, 0, 1, 1]
    assert back.gauge == "b"
    twisted = np.exp(2j * np.pi * np.arange(30) / 30)
    ring = ang.simulate.ring(30, truth=np.ones(30), rng=0).C
    refuted = ang.synchronize(ring, solver=ang.GPM(4.0), start=twisted)
    refuted.save(tmp_path / "w.npz")
    back = ang.load_result(tmp_path / "w.npz")
    assert back.certificate.verdict is ang.Verdict.REFUTED
    assert np.array_equal(back.certificate.witness, refuted.certificate.witness)


def test_one_node_and_no_certificate_survive_a_file(tmp_path):
    one = ang.synchronize([[1.0]])
    one.save(tmp_path / "one.npz")
    assert ang.load_result(tmp_path / "one.npz").certificate.lambda_2 == np.inf
    plain = ang.synchronize(np.ones((3, 3)), certify=False)
    plain.save(tmp_path / "plain.npz")
    assert ang.load_result(tmp_path / "plain.npz").certificate is None


def test_a_file_of_phases_is_not_a_result(result, tmp_path):
    result.save(tmp_path / "r.csv")
    with pytest.raises(FileFormatError, match="exports"):
        ang.load_result(tmp_path / "r.csv")
    save_fields(tmp_path / "z.npz", {"z": result.z})
    with pytest.raises(FileFormatError, match="not a complete result"):
        ang.load_result(tmp_path / "z.npz")


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_the_bits_of_z_come_back(tmp_path, dtype):
    r = ang.synchronize(ang.simulate.gaussian(30, 0.5, rng=0).C.astype(dtype))
    r.save(tmp_path / "r.npz")
    back = ang.load_result(tmp_path / "r.npz")
    assert back.z.dtype == dtype
    assert back.z.tobytes() == r.z.tobytes()


@pytest.mark.parametrize("labels", [None, ["a", "b", "c"]])
def test_anchors_and_priors_come_back(tmp_path, labels):
    m = ang.Measurements([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.3], labels=labels)
    first, last = (0, 2) if labels is None else ("a", "c")
    r = ang.synchronize(m, anchors={first: 0.25}, priors={last: (0.5, 2.0)})
    r.save(tmp_path / "r.npz")
    back = ang.load_result(tmp_path / "r.npz")
    assert (back.gauge, back.anchors, back.priors) == ("anchors", {first: 0.25}, {last: (0.5, 2.0)})
    back.save(tmp_path / "again.npz")
    assert ang.load_result(tmp_path / "again.npz").anchors == {first: 0.25}
    with pytest.raises(InputError, match="loaded from"):
        back.standard_errors()
    with pytest.raises(InputError, match="loaded from"):
        back.confidence_intervals()
    assert ang.synchronize(m).anchors is None


BROKEN = {
    "CERTIFIED": "CERTIFIEX",
    '"residual"': '"rezidual"',
    '"gap_bound"': '"gap_bounds"',
    '"unique": true': '"unique": 3',
    '"status": "CONVERGED"': '"status": "GONE"',
    '"status": "CONVERGED" ': '"status": 7',
    '"iterations": ': '"iterations": 2.5, "x": ',
    '"message": "': '"message": ["',
    '"certificate": {': '"certificate": [], "y": {',
    '"gauge": "first"': '"gauge": null',
}


@pytest.mark.parametrize("old", BROKEN)
def test_broken_results_are_one_message(tmp_path, old):
    path = tmp_path / "r.npz"
    ang.synchronize(ang.Measurements([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.3])).save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    text = str(arrays["metadata"])
    assert old.strip() in text
    np.savez(path, **(arrays | {"metadata": np.array(text.replace(old.strip(), BROKEN[old], 1))}))
    with pytest.raises(FileFormatError, match=r"r\.npz"):
        ang.load_result(path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("components", np.array([0, 0, 10**12])),
        ("components", np.array([0, 0])),
        ("components", np.array([0.0, 0, 0])),
        ("z", np.ones((3, 1), complex)),
        ("z", np.ones(3)),
        ("history_objective", np.array(["a"])),
        ("metadata", np.array("[]")),
        ("metadata", np.array("{" * 10**5)),
    ],
)
def test_broken_arrays_are_one_message(tmp_path, name, array):
    path = tmp_path / "r.npz"
    ang.synchronize(ang.Measurements([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.3])).save(path)
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **(arrays | {name: array}))
    with pytest.raises(FileFormatError, match=r"r\.npz"):
        ang.load_result(path)
