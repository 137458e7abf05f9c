"""Tables: text, parquet, data frames and mappings; every error says where."""

from __future__ import annotations

import datetime
from pathlib import Path

import numpy as np
import pytest

from angsync.errors import AngsyncWarning, FileFormatError, InputError
from angsync.io import read
from angsync.io.table import table_of, write_csv


@pytest.fixture
def table(tmp_path: Path):
    def write(content: str | bytes, name: str = "edges.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def parquet(tmp_path: Path):
    arrow, writer = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def write(columns: dict) -> Path:
        writer.write_table(arrow.table(columns), tmp_path / "edges.parquet")
        return tmp_path / "edges.parquet"

    return write


def test_indices_weights_and_other_columns(table, parquet) -> None:
    columns = {"remark": ["x", "y"], "i": [0, 2], "j": [1, 1], "angle": [0.5, -1e-3], "weight": [2, 0.25]}
    text = "remark,i,j,angle,weight\nx,0,1,0.5,2\ny,2,1,-1e-3,0.25\n"
    for m in (read(table(text)), read(parquet(columns))):
        assert m.i.tolist() == [0, 2]
        assert m.j.tolist() == [1, 1]
        assert m.angle.tolist() == [0.5, -1e-3]
        assert m.weight.tolist() == [2, 0.25]
        assert m.labels is None


def test_columns_by_other_names(table, parquet) -> None:
    for path in (table("from,to,phase,w\n0,1,0.5,2\n"), parquet({"from": [0], "to": [1], "phase": [0.5], "w": [2]})):
        m = read(path, i="from", j="to", angle="phase", weight="w")
        assert (m.angle[0], m.weight[0]) == (0.5, 2)
        assert read(path, i="from", j="to", angle="phase").weight.tolist() == [1]
        with pytest.raises(FileFormatError, match="no column 'v'"):
            read(path, i="from", j="to", angle="phase", weight="v")


def test_labels_are_kept(table) -> None:
    m = read(table('i,j,angle\nParis,"Rome, Italy",0.5\nRome (2),Paris,1\n'))
    assert m.labels == ("Paris", "Rome, Italy", "Rome (2)")
    assert m.i.tolist() == [0, 2]


def test_whole_numbers_are_labels_ordered_by_value(table) -> None:
    m = read(table("i,j,angle\n30,10,0.5\n20,30,1\n"))
    assert m.labels == (10, 20, 30)
    assert m.i.tolist() == [2, 1]


def test_both_node_columns_get_one_type(table) -> None:
    # were i alone to become numbers, its 1 and the text 1 of j would be two nodes
    m = read(table("i,j,angle\n1,2,0.5\n2,A,1\n3,1,1\n"))
    assert m.labels == ("1", "2", "A", "3")


def test_leading_zero_and_huge_numbers_stay_text(table) -> None:
    assert read(table("i,j,angle\n01,1,0.5\n")).labels == ("01", "1")
    assert read(table("i,j,angle\n99999999999999999999,1,1\n")).labels == ("99999999999999999999", "1")


def test_parquet_categories_dates_and_whole_floats(parquet) -> None:
    arrow = pytest.importorskip("pyarrow")
    first, second = (arrow.array(x).dictionary_encode() for x in (["a", "b"], ["b", "c"]))
    assert read(parquet({"i": first, "j": second, "angle": [0.5, 1.0]})).labels == ("a", "b", "c")
    days = [datetime.date(2020, 1, day) for day in (1, 2)]
    assert read(parquet({"i": days[:1], "j": days[1:], "angle": [0.5]})).labels == tuple(days)
    m = read(parquet({"i": [0.0, 2.0], "j": [1, 1], "angle": arrow.array([0.5, 1], arrow.float32())}))
    assert (m.i.tolist(), m.angle.tolist()) == ([0, 2], [0.5, 1])


def test_parquet_categories_without_a_value_are_refused(parquet) -> None:
    arrow = pytest.importorskip("pyarrow")
    first = arrow.array(["a", "b", None]).dictionary_encode()
    with pytest.raises(FileFormatError, match="i"):
        read(parquet({"i": first, "j": ["b", "c", "c"], "angle": [0.5, 1.0, 0.1]}))


def test_parquet_is_known_by_its_content_too(parquet) -> None:
    path = parquet({"i": [0], "j": [1], "angle": [0.5]})
    renamed = path.rename(path.with_suffix(".data"))
    assert len(read(renamed, format="parquet")) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfi,j,angle\n0,1,0.5\n1,2,0.25\n",
        b"i,j,angle\r\n0,1,0.5\r\n1,2,0.25\r\n",
        b"i,j,angle\n0,1,0.5\n1,2,0.25\n\n  \n\n",
        b"# made by hand\ni,j,angle\n0,1,0.5\n# between\n1,2,0.25",
        b"i, j, angle\n0 , 1 , 0.5\n1,\t2, 0.25\n",
        b"i;j;angle\n0;1;0.5\n1;2;0.25\n",
        b"i\tj\tangle\n0\t1\t0.5\n1\t2\t0.25\n",
        b"  i  j angle\n  0  1   0.5  \n  1  2   0.25\n",
        b"# i,j,angle\n0,1,0.5\n1,2,0.25\n",
        b"# made by\n# i , j , angle\n0,1,0.5\n\n1,2,0.25\n",
    ],
    ids=["byte-order mark", "CRLF", "blank lines", "comments", "spaces", "semicolons", "tabs", "blanks", "#", "# #"],
)
def test_dialects(table, content: bytes) -> None:
    m = read(table(content))
    assert m.i.tolist() == [0, 1]
    assert m.j.tolist() == [1, 2]
    assert m.angle.tolist() == [0.5, 0.25]


def test_quoted_fields_may_hold_lines_and_comment_signs(table) -> None:
    m = read(table('i,j,angle\n"#1","a\n#b\n\nc",0.5\n'))
    assert m.labels == ("#1", "a\n#b\n\nc")
    with pytest.raises(FileFormatError, match="line 4, column 'angle': 'x'"):
        read(table('i,j,angle\n"a\nb",c,1\nc,d,x\n'))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("i,j,angle\n0,1,0.5\n1,2\n", ["line 3", "2 fields", "3", "truncated"]),
        ("i,j,angle\n0,1,0.5,7\n", ["line 2", "4 fields"]),
        ("# c\n\ni,j,angle\n0,1,0.5\n\n1,2,fast\n", ["line 6", "column 'angle'", "'fast'"]),
        ("i,j,angle,weight\n0,1,0.5,\n", ["line 2", "column 'weight'", "''"]),
        ("i,j,angle\n0,1,nan\n", ["line 2", "column 'angle'", "'nan'", "finite"]),
        ("i,j,angle\n0,1,1_0\n", ["line 2", "'1_0'"]),
        ("i;j;angle\n0;1;0,5\n", ["line 2", "'0,5'", "with a point"]),
        ("i,j,angle\n0,,0.5\n", ["line 2", "column 'j'", "missing"]),
        ('i,j,angle\n0,"1,0.5\n', ["line 2", "quotation mark"]),
        ("\n\n", ["no header"]),
        ("# only a remark\n", ["no header"]),
        ("i,j,angle\n", ["header but no rows"]),
        ("i,j,angle,angle\n0,1,1,1\n", ["'angle' more than once"]),
        ("i,j,angle,weight\n0,1,0.5,-1\n", ["weight[0]", "negative"]),
        ("i,j,angle\n0,0,0.5\n", ["to itself"]),
        ("i,j,angle\n0,1,1e300\n", ["angle[0] is"]),
        (b"\xff\xfei\x00,\x00", ["not UTF-8"]),
        ("0,1,0.5\n1,2,0.5\n", ["no column 'i'", "put i,j,angle above the data"]),
        ("# made yesterday\na,b,1.5\nb,c,2\n", ["put i,j,angle above the data"]),
        ("i,j,angle\na,b,1\nNA,c,2\n", ["line 3", "'NA'", "missing"]),
        ("src,dst,dphi\na,b,1\n", ["'src', 'dst', 'dphi'", "angle='phase'"]),
        ("i,j,phase\na,b,1\n", ["no column 'angle'", "angle='phase'"]),
    ],
)
def test_failures_say_where(table, content: str | bytes, words: list[str]) -> None:
    path = table(content)
    with pytest.raises(FileFormatError) as caught:
        read(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": [0], "b": [1], "angle": [0.5]}, "no column 'i'"),
        ({"i": [0, 1], "j": [1, 2], "angle": [0.5, None]}, r"row 1 .*'angle'"),
        ({"i": [0, None], "j": [1, 2], "angle": [0.5, 1]}, r"i\[1\] is nan"),
        ({"i": ["a", None], "j": ["b", "c"], "angle": [0.5, 1]}, "names no node"),
        ({"i": [0], "j": ["1"], "angle": [0.5]}, "both name nodes"),
        ({"i": [0], "j": [1], "angle": ["fast"]}, "'fast'"),
        ({"i": [0], "j": [1], "angle": [np.inf]}, "'angle': 'inf'"),
        ({"i": [], "j": [], "angle": []}, "no rows"),
    ],
)
def test_failures_in_parquet(parquet, columns: dict, words: str) -> None:
    path = parquet(columns)
    with pytest.raises(FileFormatError, match=words) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("share", [0.3, 0.95])
def test_truncated_parquet(parquet, share: float) -> None:
    path = parquet({"i": [0], "j": [1], "angle": [0.5]})
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(FileFormatError, match="truncated"):
        read(path)


def test_angles_are_read_exactly(table) -> None:
    angles = np.random.default_rng(0).uniform(-np.pi, np.pi, 50)
    rows = "".join(f"{k},{k + 1},{angle!r}\n" for k, angle in enumerate(angles.tolist()))
    assert (read(table("i,j,angle\n" + rows)).angle == angles).all()


def test_a_million_columns_are_one_table(table) -> None:
    """Messages stay short, whatever is in the file."""
    many = ",".join(f"c{k}" for k in range(200_000))
    ones = ",".join("1" for _ in range(200_000))
    assert len(read(table(f"i,j,angle,{many}\n0,1,0.5,{ones}\n"))) == 1
    for content in (f"angle,{many}\n0,{ones}\n", f"i,j,angle\n0,1,{'x' * 50_000}\n"):
        with pytest.raises(FileFormatError) as caught:
            read(table(content))
        assert len(str(caught.value)) < 2000


def test_standard_deviations_give_weights(table, parquet) -> None:
    for name in ("sigma", "error"):
        text, columns = (
            f"i,j,angle,{name}\n0,1,5,2\n1,2,6,4\n",
            {"i": [0, 1], "j": [1, 2], "angle": [5, 6], name: [2, 4]},
        )
        for path in (table(text), parquet(columns)):
            assert read(path).weight.tolist() == [1 / 4, 1 / 16]
            np.testing.assert_allclose(read(path, unit="deg").weight, np.deg2rad([2.0, 4.0]) ** -2)
    path = table("i,j,angle,weight,sd\n0,1,5,3,2\n")
    assert read(path).weight.tolist() == [3]
    assert read(path, error="sd").weight.tolist() == [1 / 4]
    with pytest.raises(InputError, match="both weight and error"):
        read(path, weight="weight", error="sd")


def test_weights_and_standard_deviations_are_refused_together(table) -> None:
    path = table("i,j,angle,weight,sigma\n0,1,5,3,2\n")
    with pytest.raises(FileFormatError, match="'weight', 'sigma'"):
        read(path)
    assert read(path, weight="weight").weight.tolist() == [3]
    assert read(path, error="sigma").weight.tolist() == [1 / 4]
    with pytest.warns(AngsyncWarning, match="'Weight' is not used"):
        assert read(table("i,j,angle,Weight,sigma\n0,1,5,3,2\n")).weight.tolist() == [1 / 4]
    with pytest.warns(AngsyncWarning, match="'stderr' is not used"):
        assert read(table("i,j,angle,stderr\n0,1,5,2\n")).weight.tolist() == [1]


@pytest.mark.parametrize("sigma", ["0", "-1", "1e-300", "1e300", "nan", "x"])
def test_standard_deviations_that_cannot_be(table, sigma: str) -> None:
    with pytest.raises(FileFormatError, match="sigma"):
        read(table(f"i,j,angle,sigma\n0,1,5,{sigma}\n"))


def test_a_file_a_mapping_and_a_frame_are_one_table(tmp_path) -> None:
    pandas = pytest.importorskip("pandas")
    columns = {"name": ["a", "b"], "value": [1.5, 2.5]}
    path, parquet = tmp_path / "t.csv", tmp_path / "t.parquet"
    path.write_text("# made by hand\n#name,value\na,1.5\nb,2.5\n")
    pandas.DataFrame(columns).to_parquet(parquet)
    for source in (path, str(path), parquet, columns, pandas.DataFrame(columns), table_of(columns)):
        table = table_of(source, {"name", "value"})
        assert len(table) == 2
        assert table.names == ["name", "value"]
        assert table.texts("name") == ["a", "b"]
        assert table.numbers("value").tolist() == [1.5, 2.5]


def test_columns_are_found_by_their_usual_names() -> None:
    table = table_of({"Winner": ["a"], "pts": [3]})
    assert table.choose("the winner", None, "winner", "w") == "Winner"
    assert table.choose("the margin", "pts", "margin") == "pts"
    with pytest.raises(InputError, match=r"'loser' or 'l' .*'Winner', 'pts'.* --loser"):
        table.choose("the loser", None, "loser", "l", option="--loser")


def test_missing_numbers_are_nan_if_they_may_be() -> None:
    table = table_of({"value": ["1", "NA", "", None, "nan"]})
    assert np.isnan(table.numbers("value", missing=True)).tolist() == [False, True, True, True, True]
    with pytest.raises(InputError, match=r"row 1 .*'NA'"):
        table.numbers("value")
    with pytest.raises(InputError, match=r"row 1 .*missing"):
        table.texts("value")
    with pytest.raises(InputError, match=r"row 1 .*'inf'"):
        table_of({"value": np.array([1.0, np.inf])}).numbers("value", missing=True)


def test_tables_without_rows_or_with_unequal_columns_are_refused(table) -> None:
    for source, words in (
        (table("name,value\n"), "no rows"),
        ({}, "no rows"),
        ({"a": [1], "b": [1, 2]}, "lengths"),
        (object(), "neither"),
    ):
        with pytest.raises(InputError, match=words):
            table_of(source)


def test_what_is_written_is_a_plain_table(tmp_path: Path) -> None:
    columns = {
        "name": ["#a", "b,c", 'd"e'],
        "x": np.array([0.1, np.nan, -np.inf]),
        "yes": np.array([True, False, True]),
    }
    write_csv(tmp_path / "t.csv", columns)
    assert (tmp_path / "t.csv").read_text() == 'name,x,yes\n"#a","0.1","1"\n"b,c","nan","0"\n"d""e","-inf","1"\n'
    assert table_of(tmp_path / "t.csv").texts("name") == columns["name"]
