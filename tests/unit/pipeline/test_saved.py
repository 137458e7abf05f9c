"""Results in files and back."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import angsync as ang
from angsync.errors import DisconnectedWarning, FileFormatError, InputError


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
    with pytest.raises(ang.errors.FileFormatError, match="holds measurements of pairs"):
        ang.load_result(tmp_path / "edges.csv")
    (tmp_path / "edges.csv").write_text("node,angle\n0,0.5\n")
    with pytest.raises(ang.errors.FileFormatError, match="not a saved result"):
        ang.load_result(tmp_path / "edges.csv")


@pytest.mark.parametrize("suffix", ["npz", "csv"])
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_the_bits_of_z_come_back(tmp_path, suffix, dtype):
    r = ang.synchronize(ang.simulate.gaussian(30, 0.5, rng=0).C.astype(dtype))
    r.save(tmp_path / f"r.{suffix}")
    back = ang.load_result(tmp_path / f"r.{suffix}")
    assert back.z.dtype == dtype
    assert back.z.tobytes() == r.z.tobytes()


def test_angles_edited_by_hand_are_not_overlooked(result, tmp_path):
    result.save(tmp_path / "r.csv")
    lines = (tmp_path / "r.csv").read_text().splitlines()
    node, angle, *rest = lines[5].split(",")
    lines[5] = ",".join([node, str(float(angle) + 0.1), *rest])
    (tmp_path / "r.csv").write_text("\n".join(lines))
    changed = pytest.warns(ang.errors.AngsyncWarning, match="it was changed or replaced")
    with changed, pytest.raises(FileFormatError, match=r"line 6: angle says another phase than real and imag"):
        ang.load_result(tmp_path / "r.csv")


@pytest.mark.parametrize("suffix", ["npz", "csv"])
@pytest.mark.parametrize("labels", [None, ["a", "b", "c"]])
def test_anchors_and_priors_come_back(tmp_path, suffix, labels):
    m = ang.Measurements([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.3], labels=labels)
    first, last = (0, 2) if labels is None else ("a", "c")
    r = ang.synchronize(m, anchors={first: 0.25}, priors={last: (0.5, 2.0)})
    r.save(tmp_path / f"r.{suffix}")
    back = ang.load_result(tmp_path / f"r.{suffix}")
    assert (back.gauge, back.anchors, back.priors) == ("anchors", {first: 0.25}, {last: (0.5, 2.0)})
    back.save(tmp_path / f"again.{suffix}")
    assert ang.load_result(tmp_path / f"again.{suffix}").anchors == {first: 0.25}
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
    '"n": 3': '"n": 4',
    '"complex128"': '"V1000000000"',
    '"dtype": "<f8"': '"dtype": "O"',
    '"shape": [': '"shape": [7, ',
    '"format_version": 1': '"format_version": "x"',
    '"fields"': '"felds"',
}


@pytest.mark.parametrize("old", BROKEN)
def test_broken_results_are_one_message(tmp_path, old):
    path = tmp_path / "r.csv"
    ang.synchronize(ang.Measurements([0, 1, 0], [1, 2, 2], [0.1, 0.2, 0.3])).save(path)
    beside = tmp_path / "r.csv.json"
    text = beside.read_text()
    assert old.strip() in text
    beside.write_text(text.replace(old.strip(), BROKEN[old], 1))
    with pytest.raises(FileFormatError, match=r"r\.csv"):
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
