"""A store against its markers."""

from __future__ import annotations

import pytest
from chunked_work import work

from angsync.errors import FileFormatError
from angsync.io.chunked import arrays, markers
from angsync.io.chunked.lock import locked
from angsync.io.chunked.verify import verify
from angsync.io.chunked.work import carry_out

zarr = pytest.importorskip("zarr")


@pytest.fixture
def out(tmp_path):
    carry_out(work(tmp_path), tmp_path / "out.zarr")
    return tmp_path / "out.zarr"


def file_of(out, field, numbers):
    return out / arrays.key_of(arrays.open_arrays(out, [field])[field], numbers)


def test_every_kind_of_fault_is_named_and_mended_by_a_resumed_run(tmp_path, out):
    told = []
    assert verify(out, lambda k, total: told.append((k, total))).is_complete
    assert told[-1] == (9, 9)
    file_of(out, "twice", (0, 0, 0)).unlink()
    flipped = file_of(out, "twice", (0, 1, 1))
    content = bytearray(flipped.read_bytes())
    content[len(content) // 2] ^= 1
    flipped.write_bytes(content)
    array = arrays.open_arrays(out, ["small"], "r+")["small"]
    array[8:, 10:] = ~array[8:, 10:]  # what zarr wrote and finds in order
    markers.path_of(out, "0_1").write_text("{")
    markers.forget(out, "2_0")
    found = verify(out)
    assert sorted(found.wrong) == ["0_0", "0_1", "1_1", "2_2"]
    assert found.wrong["0_0"].endswith("is missing")
    assert "twice cannot be read" in found.wrong["1_1"]
    assert found.wrong["2_2"] == "small has another checksum than its marker says"
    assert "damaged" in found.wrong["0_1"]
    assert (found.unfinished, found.right, found.total) == (["2_0"], 4, 9)
    for name in found.wrong:
        markers.forget(out, name)
    assert carry_out(work(tmp_path), out, resume=True).computed == 5
    assert verify(out).is_complete


def test_a_chunk_that_is_computed_after_its_marker_is_counted(tmp_path, out):
    plan = verify(out)
    assert plan.again == {}
    marker = markers.read_any(out, "0_0")
    markers.write(out, "0_0", marker["plan"], marker["crc32"], marker["report"])
    assert verify(out).again == {"0_0": 2}


def test_who_is_writing_is_told(out):
    with locked(markers.folder_of(out)):
        assert verify(out).writer.startswith("process ")


def test_other_stores_and_damaged_ones_are_refused(tmp_path, out):
    with pytest.raises(FileFormatError, match="there is no store"):
        verify(tmp_path / "gone.zarr")
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w")
    with pytest.raises(FileFormatError, match="not written chunk by chunk by angsync"):
        verify(tmp_path / "other.zarr")
    for file in (out / "small").iterdir():
        if file.is_file() and "z" in file.name:
            file.write_text("{")
    with pytest.raises(FileFormatError, match="cannot open small"):
        verify(out)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileFormatError, match="empty folder"):
        verify(tmp_path / "empty")
