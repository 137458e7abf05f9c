"""MATLAB's format of versions 5 to 7, and version 4, against the writer of SciPy."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from angsync.errors import FileFormatError
from angsync.io import read
from angsync.io.mat4 import load_version_4
from angsync.io.mat5 import load_version_5

COMPLEX = np.arange(6).reshape(2, 3) * (1 - 2j)
VALUES = {
    "double": np.linspace(-1, 1, 6).reshape(3, 2),
    "single": np.float32([[1.5, 2.5]]),
    "small": np.array([[1, 2], [250, 4]], dtype=np.uint8),
    "large": np.array([[-(2**62), 5]], dtype=np.int64),
    "truth": np.array([[True, False]]),
    "complex": COMPLEX,
    "thin": COMPLEX.astype(np.complex64),
    "three": np.arange(24.0).reshape(2, 3, 4),
    "empty": np.zeros((0, 3)),
    "number": np.array([[7.0]]),
}


@pytest.mark.parametrize("packed", [False, True])
def test_every_kind_of_number(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "v.mat"
    scipy.io.savemat(path, VALUES, do_compression=packed)
    found = load_version_5(path, VALUES)
    assert found.keys() == VALUES.keys()
    for name, expected in VALUES.items():
        assert found[name].dtype == expected.dtype, name
        np.testing.assert_array_equal(found[name], expected)


@pytest.mark.parametrize("packed", [False, True])
def test_text_sparse_and_what_is_not_read(tmp_path: Path, packed: bool) -> None:
    path = tmp_path / "v.mat"
    sparse = scipy.sparse.csc_matrix(np.arange(20.0).reshape(5, 4) * (np.arange(20).reshape(5, 4) % 3 == 1))
    content = {
        "words": ["one", "three"], "accents": "éß", "real": sparse, "complex": sparse * 1j, "yes": sparse != 0,
        "cell": np.array([[1, "a"]], dtype=object), "record": {"a": 1}, "other": np.ones(3),
    }  # fmt: skip
    scipy.io.savemat(path, content, do_compression=packed)
    found = load_version_5(path, set(content) - {"other"})
    assert found["words"].tolist() == ["one  ", "three"]
    assert found["accents"].tolist() == ["éß"]
    for name in ("real", "complex", "yes"):
        assert (found[name] != scipy.sparse.csr_array(content[name])).nnz == 0
    assert [found[name] for name in ("cell", "record", "other")] == [None, None, None]


def test_the_other_order_of_bytes(tmp_path: Path) -> None:
    def element(kind: int, content: bytes) -> bytes:
        return struct.pack(">II", kind, len(content)) + content.ljust((len(content) + 7) // 8 * 8, b"\0")

    flags = element(6, struct.pack(">II", 6, 0))
    sizes, name = element(5, struct.pack(">ii", 1, 2)), struct.pack(">HH4s", 1, 1, b"C")
    numbers = element(9, struct.pack(">dd", 1.5, -2))
    matrix = flags + sizes + struct.pack(">HH4s", 1, 1, b"C") + numbers
    assert name in matrix
    path = tmp_path / "v.mat"
    path.write_bytes(b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + element(14, matrix))
    assert load_version_5(path, ["C"])["C"].tolist() == [[1.5, -2.0]]


def test_version_4(tmp_path: Path) -> None:
    path = tmp_path / "v.mat"
    sparse = scipy.sparse.csc_matrix(np.arange(20.0).reshape(5, 4) * (np.arange(20).reshape(5, 4) % 3 == 1))
    content = {
        "a": VALUES["double"], "b": COMPLEX, "c": np.int16([[3, -4]]), "words": "text", "s": sparse, "t": sparse * 2j,
        "other": np.ones(2),
    }  # fmt: skip
    scipy.io.savemat(path, content, format="4")
    found = load_version_4(path, set(content) - {"other"})
    for name in "abc":
        np.testing.assert_array_equal(found[name], content[name])
    assert found["words"].tolist() == ["text"]
    for name in "st":
        assert (found[name] != scipy.sparse.csr_array(content[name])).nnz == 0
    assert found["other"] is None
    m = scipy.io.savemat(path, {"i": [1.0, 2], "j": [2.0, 3], "angle": [0.5, 0.25]}, format="4") or read(path)
    assert m.labels == (1, 2, 3)


@pytest.mark.parametrize("version", ["4", "5"])
def test_every_single_bit(tmp_path: Path, version: str) -> None:
    """Each flipped bit of a small file, in a process of its own: SciPy's reader ended it on 15 of 2560."""
    path = tmp_path / "c.mat"
    scipy.io.savemat(path, {"C": np.exp(1j * np.arange(9).reshape(3, 3))}, format=version)
    code = (
        "import sys, pathlib, warnings\nfrom angsync.errors import FileFormatError\nfrom angsync.io import read\n"
        "path = pathlib.Path(sys.argv[1]); good = path.read_bytes(); refused = 0\n"
        "for k in range(8 * len(good)):\n"
        "    bad = bytearray(good); bad[k // 8] ^= 1 << k % 8; path.write_bytes(bad)\n"
        "    try: read(path)\n"
        "    except FileFormatError: refused += 1\n"
        "print(refused)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) > 100


def test_variables_twice(tmp_path: Path) -> None:
    path = tmp_path / "c.mat"
    scipy.io.savemat(path, {"C": np.eye(2)})
    content = path.read_bytes()
    path.write_bytes(content + content[128:])
    with pytest.raises(FileFormatError, match="'C' is there twice"):
        read(path)


def test_another_file_with_this_suffix(tmp_path: Path) -> None:
    path = tmp_path / "c.mat"
    path.write_text("i,j,angle\n0,1,0.5\n" * 20)
    with pytest.raises(FileFormatError, match="is not a MATLAB file"):
        read(path)
