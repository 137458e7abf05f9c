"""Files of batch results: what is written, and one message for everything that is broken."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from problems import gaussian_stack

import angsync as ang
from angsync.batch.result import BatchResult
from angsync.errors import FileFormatError, OutputError


@pytest.fixture
def stored(tmp_path):
    ang.synchronize(gaussian_stack(4, 6, 0.1).reshape(2, 3, 4, 4), gauge=2).save(tmp_path / "good.npz")
    return tmp_path / "good.npz"


def test_everything_comes_back(stored):
    result = ang.synchronize(gaussian_stack(4, 6, 0.1).reshape(2, 3, 4, 4), gauge=2)
    again = BatchResult.load(stored)
    assert again.gauge == 2
    assert type(again.gauge) is int
    for name in (
        "z",
        "objective",
        "residual",
        "iterations",
        "status",
        "components",
        "verdict",
        "gap_bound",
        "lambda_2",
    ):
        np.testing.assert_array_equal(getattr(again, name), getattr(result, name), err_msg=name)
    one = result[1, 2]
    one.save(stored)
    np.testing.assert_array_equal(BatchResult.load(stored).z, one.z)
    assert BatchResult.load(stored).shape == ()


@pytest.mark.parametrize("name", ["x.h5", "x.csv", "x", "x.npy", "x.mat"])
def test_other_suffixes_are_refused(tmp_path, name):
    with pytest.raises(OutputError, match="format is npz"):
        ang.synchronize(gaussian_stack(3, 2, 0.1)).save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_file_of_the_first_version_is_read(stored):
    with np.load(stored) as found:
        fields = {name: found[name] for name in found.files if name != "components"}
    np.savez(stored, **(fields | {"batch_version": 1}))
    assert BatchResult.load(stored).components is None


def test_every_truncated_file_gets_one_message(stored):
    content = stored.read_bytes()
    for length in range(0, len(content), 37):
        stored.write_bytes(content[:length])
        with pytest.raises(FileFormatError, match=r"good\.npz"):
            BatchResult.load(stored)


def test_flipped_bytes_give_a_message_or_the_same(stored):
    """2000 files with one to four wrong bytes: no raw exception."""
    content = stored.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(2000):
        wrong = bytearray(content)
        for k in rng.integers(0, len(content), rng.integers(1, 5)):
            wrong[k] = int(rng.integers(256))
        stored.write_bytes(bytes(wrong))
        with contextlib.suppress(FileFormatError):
            BatchResult.load(stored)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"z": None}, "lacks 'z'"),
        ({"batch_version": 99}, "versions up to 2"),
        ({"batch_version": None}, "is no result of a stack"),
        ({"batch_version": np.array(["x"])}, "is no result of a stack"),
        ({"z": np.ones((2, 3, 4))}, "z must hold complex numbers"),
        ({"status": np.zeros(5, np.int8)}, r"status has the type int8 and the shape \(5,\)"),
        ({"status": np.full((2, 3), 77, np.int8)}, "status holds codes that there are none of"),
        ({"verdict": np.full((2, 3), 2, np.int8)}, "verdict holds codes"),
        ({"residual": np.zeros((2, 3), complex)}, "residual has the type complex128"),
        ({"tolerance": np.array("much")}, "tolerance must be one value"),
        ({"gauge": np.ones(3)}, "gauge must be one value"),
        ({"seconds": None}, "lacks 'seconds'"),
    ],
)
def test_what_does_not_fit_is_named(stored, changes, message):
    with np.load(stored) as found:
        fields = {name: found[name] for name in found.files} | changes
    np.savez(stored, **{name: value for name, value in fields.items() if value is not None})
    with pytest.raises(FileFormatError, match=message):
        BatchResult.load(stored)


def test_what_is_no_archive(tmp_path):
    with pytest.raises(FileFormatError, match="no such file"):
        BatchResult.load(tmp_path / "missing.npz")
    np.save(tmp_path / "array.npz", np.ones(3))
    (tmp_path / "array.npz.npy").rename(tmp_path / "array.npz")
    with pytest.raises(FileFormatError, match=r"array\.npz"):
        BatchResult.load(tmp_path / "array.npz")
