"""Tables of any field, by the names of their columns; every complaint says where."""

import numpy as np
import pytest

from angsync.errors import FileFormatError, InputError
from angsync.io.field_table import field_table


def test_a_file_a_mapping_and_a_frame_are_one_table(tmp_path):
    pandas = pytest.importorskip("pandas")
    columns = {"name": ["a", "b"], "value": [1.5, 2.5]}
    path = tmp_path / "t.csv"
    path.write_text("name,value\na,1.5\nb,2.5\n")
    parquet = tmp_path / "t.parquet"
    pandas.DataFrame(columns).to_parquet(parquet)
    for source in (path, str(path), parquet, columns, pandas.DataFrame(columns), field_table(columns)):
        table = field_table(source)
        assert len(table) == 2
        assert table.texts("name") == ["a", "b"]
        assert table.numbers("value").tolist() == [1.5, 2.5]


def test_a_header_that_begins_with_a_hash(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("# made by hand\n#name,value\na,1\n")
    assert field_table(path, {"name", "value"}).names == ["name", "value"]


def test_columns_are_found_by_their_usual_names():
    table = field_table({"Winner": ["a"], "pts": [3]})
    assert table.choose("the winner", None, "winner", "w") == "Winner"
    assert table.choose("the margin", "pts", "margin") == "pts"
    with pytest.raises(
        InputError, match="no column 'loser' or 'l' for the loser; the columns found are 'Winner', 'pts'"
    ):
        table.choose("the loser", None, "loser", "l", option="--loser")
    with pytest.raises(InputError, match="Name the column with --loser"):
        table.choose("the loser", None, "loser", "l", option="--loser")


def test_what_is_wrong_is_named_with_its_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,value\na,1\n,2\nc,x\nd,inf\n")
    table = field_table(path)
    with pytest.raises(InputError, match=r"t.csv, line 3, column 'name': nothing is there"):
        table.texts("name")
    with pytest.raises(InputError, match=r"t.csv, line 4, column 'value': 'x' is not a number"):
        table.numbers("value")
    with pytest.raises(InputError, match=r"row 1 \(from 0\), column 'value': inf is not a finite number"):
        field_table({"value": np.array([1.0, np.inf])}).numbers("value")


def test_missing_numbers_are_nan_where_they_may_be():
    table = field_table({"value": ["1", "NA", "", None, "nan"]})
    assert np.isnan(table.numbers("value", missing=True)).tolist() == [False, True, True, True, True]
    with pytest.raises(InputError, match="'NA' is not a number"):
        table.numbers("value")


def test_tables_without_rows_or_with_unequal_columns_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,value\n")
    with pytest.raises(FileFormatError, match="no rows"):
        field_table(path)
    with pytest.raises(InputError, match="no rows"):
        field_table({})
    with pytest.raises(InputError, match="different lengths"):
        field_table({"a": [1], "b": [1, 2]})
    with pytest.raises(InputError, match="neither a path"):
        field_table(object())
