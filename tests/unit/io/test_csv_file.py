"""Text tables of edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from angsync.errors import FileFormatError
from angsync.io import read


@pytest.fixture
def table(tmp_path: Path):
    def write(content: str | bytes, name: str = "edges.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_indices_weights_and_other_columns(table) -> None:
    m = read(table("remark,i,j,angle,weight\nx,0,1,0.5,2\ny,2,1,-1e-3,0.25\n"))
    assert m.i.tolist() == [0, 2]
    assert m.j.tolist() == [1, 1]
    assert m.angle.tolist() == [0.5, -1e-3]
    assert m.weight.tolist() == [2, 0.25]
    assert m.labels is None


def test_columns_by_other_names(table) -> None:
    path = table("from,to,phase,w\n0,1,0.5,2\n")
    m = read(path, i="from", j="to", angle="phase", weight="w")
    assert (m.angle[0], m.weight[0]) == (0.5, 2)
    assert read(path, i="from", j="to", angle="phase").weight.tolist() == [1]


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
    ],
    ids=["byte-order mark", "CRLF", "blank lines", "comments", "spaces", "semicolons", "tabs", "blanks"],
)
@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt"])
def test_dialects(table, content: bytes, suffix: str) -> None:
    m = read(table(content, f"edges.{suffix}"))
    assert m.i.tolist() == [0, 1]
    assert m.j.tolist() == [1, 2]
    assert m.angle.tolist() == [0.5, 0.25]


def test_comment_sign_inside_a_quoted_label_is_no_comment(table) -> None:
    m = read(table('i,j,angle\n"#1","a\n#b",0.5\n'))
    assert m.labels == ("#1", "a\n#b")


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
        ("a,b,angle\n0,1,0.5\n", ["no column 'i'", "'a', 'b', 'angle'", "i='a', j='b'"]),
        ("0,1,0.5\n1,2,0.5\n", ["no column 'i'", "first line must be a header"]),
        ("i,j,angle,angle\n0,1,1,1\n", ["'angle' more than once"]),
        ("i,j,angle,weight\n0,1,0.5,-1\n", ["weight[0]", "negative"]),
        ("i,j,angle\n0,0,0.5\n", ["to itself"]),
        (b"\xff\xfei\x00,\x00", ["not UTF-8"]),
        ('# angsync-measurements {"n": \ni,j,angle\n0,1,0.5\n', ["declaration of its nodes is damaged"]),
        ('# angsync-measurements {"n": 2}\ni,j,angle\n0,2,0.5\n', ["out of range for n = 2"]),
        ('# angsync-measurements {"n": 1, "labels": ["a"]}\ni,j,angle\na,b,1\n', ["'b'", "not among"]),
        ('# angsync-measurements {"n": 3, "labels": [0, "0", 1]}\ni,j,angle\n0,1,0.5\n', ["have the same text"]),
    ],
)
def test_failures_say_where(table, content: str | bytes, words: list[str]) -> None:
    path = table(content)
    with pytest.raises(FileFormatError) as caught:
        read(path)
    for word in [str(path), *words]:
        assert word in str(caught.value)


def test_named_weight_must_exist(table) -> None:
    with pytest.raises(FileFormatError, match=r"no column 'w'; the columns found are 'i', 'j', 'angle'"):
        read(table("i,j,angle\n0,1,0.5\n"), weight="w")


def test_line_numbers_count_lines_inside_quotes(table) -> None:
    with pytest.raises(FileFormatError, match="line 4, column 'angle': 'x'"):
        read(table('i,j,angle\n"a\nb",c,1\nc,d,x\n'))


def test_angles_are_read_exactly(table) -> None:
    angles = np.random.default_rng(0).uniform(-np.pi, np.pi, 50)
    rows = "".join(f"{k},{k + 1},{angle!r}\n" for k, angle in enumerate(angles.tolist()))
    assert (read(table("i,j,angle\n" + rows)).angle == angles).all()


def test_a_million_columns_are_one_table(table) -> None:
    """Once quadratic in the columns."""
    many = ",".join(f"c{k}" for k in range(200_000))
    ones = ",".join("1" for _ in range(200_000))
    assert len(read(table(f"i,j,angle,{many}\n0,1,0.5,{ones}\n"))) == 1
    with pytest.raises(FileFormatError, match=r"no column 'i'.*'c38' and 199961 more") as caught:
        read(table(f"angle,{many}\n0,{ones}\n"))
    assert len(str(caught.value)) < 2000
    same = ",".join("x" for _ in range(30_000))
    with pytest.raises(FileFormatError, match="names 'x' more than once"):
        read(table(f"i,j,angle,{same}\n0,1,0.5,{same}\n"))


@pytest.mark.parametrize("header", ["# i,j,angle", "#i,j,angle", "# made by\n# i , j , angle"])
def test_a_header_behind_the_comment_sign(table, header: str) -> None:
    m = read(table(f"{header}\n0,1,0.5\n1,2,0.25\n"))
    assert m.angle.tolist() == [0.5, 0.25]
    m = read(table("#time T1 T2 phase\n0.1 a b 0.5\n"), i="T1", j="T2", angle="phase")
    assert m.labels == ("a", "b")


def test_a_line_without_end(table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("angsync.io.csv_table.LONGEST_LINE", 100)
    for name in ("e.csv", "e.g2o"):
        with pytest.raises(FileFormatError, match=rf"{name}, line 2: more than 100 letters"):
            read(table(("i,j,angle\n" if name == "e.csv" else "# graph\n") + "\0" * 500, name))


def test_long_texts_do_not_fill_the_message(table) -> None:
    with pytest.raises(FileFormatError) as caught:
        read(table(f"i,j,angle\n0,1,{'x' * 50_000}\n"))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("angle", ["1e300", "-1e16"])
def test_angles_of_which_nothing_is_left(table, angle: str) -> None:
    with pytest.raises(FileFormatError, match=r"edges\.csv: angle\[0\] is"):
        read(table(f"i,j,angle\n0,1,{angle}\n"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("src,dst,dphi\na,b,1\n", "i='src', j='dst', angle='dphi'."),
        ("i,j,phase\na,b,1\n", "angle='phase'."),
        ("# from,to,phase\na,b,1\n", "in the header 'from,to,phase'.*i='from', j='to', angle='phase'."),
        ("a,b,1.5\nb,c,2\n", "put i,j,angle above the data"),
        ("# made yesterday\na,b,1.5\nb,c,2\n", "put i,j,angle above the data"),
    ],
)
def test_other_names_are_offered_as_they_would_be_given(table, content: str, words: str) -> None:
    with pytest.raises(FileFormatError, match=words):
        read(table(content))
