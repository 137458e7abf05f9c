"""The tables of formats: every row leads to a function, and no table loads more than it says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from angsync.io import formats


@pytest.mark.parametrize("table", [formats.COLUMN_READERS, formats.MEASUREMENT_WRITERS, formats.MATRIX_WRITERS])
def test_every_row_leads_to_a_function(table):
    for suffix, home in table.items():
        assert suffix.startswith(".")
        assert callable(formats.function_of(home))


def test_what_is_written_can_be_read():
    assert {*formats.MEASUREMENT_WRITERS, *formats.MATRIX_WRITERS, *formats.RESULT} <= set(formats.READ)


def test_suffixes_in_words():
    assert formats.in_words([".csv"]) == "csv"
    assert formats.in_words([".csv", ".npz", ".npy"]) == "csv, npz or npy"


def loaded(code):
    """Modules after this code in an interpreter of its own."""
    code += "; import sys, json; print(json.dumps(sorted(sys.modules)))"
    return json.loads(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)


def test_the_tables_need_no_numpy():
    modules = loaded("import angsync.io, angsync.io.formats")
    assert "numpy" not in modules
    assert [name for name in modules if name.startswith("angsync.io.")] == ["angsync.io.formats"]


def test_reading_one_format_loads_no_reader_of_another(tmp_path):
    (tmp_path / "edges.csv").write_text("i,j,angle\n0,1,0.5\n")
    modules = loaded(f"import angsync; angsync.read({str(tmp_path / 'edges.csv')!r})")
    assert "angsync.io.table" in modules
    for other in ("arrays", "g2o_file", "hdf5_file", "mat_file", "phases_file", "result_file", "tfs_file"):
        assert f"angsync.io.{other}" not in modules


def test_the_names_of_the_package_are_there_and_no_others():
    import angsync.io

    assert set(dir(angsync.io)) == set(angsync.io.__all__)
    for name in angsync.io.__all__:
        assert callable(getattr(angsync.io, name))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        angsync.io.nonsense  # noqa: B018
