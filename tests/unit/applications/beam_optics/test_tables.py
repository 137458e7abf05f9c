"""Phase tables: which way round, units, what is left out or refused."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import beam_optics
from angsync.errors import InputError, UnitWarning

pytest.importorskip("tfs")

HEAD = "@ Q1 %le 0.31\n* NAME S NAME2 S2 MUXMDL PHASEX ERRPHASEX PHASEXMDL\n$ %s %le %s %le %le %le %le %le\n"
NEIGHBORS = "a 0 b 1 0.0 0.2 0.01 0.2\nb 1 c 2 0.2 0.35 0.01 0.3\nc 2 a 0 0.5 0.5 0.01 0.5\n"
TOTALS = "a 0 a 0 0.0 0 0 0\nb 1 a 0 0.2 0.2 0.01 0.2\nc 2 a 0 0.5 0.55 0.02 0.5\n"


def written(path, head, rows):
    """A TFS file; the line of types is added if the head has none."""
    names = head.rpartition("* ")[2].split()
    types = "" if "$" in head else "$ " + " ".join("%s" if name.startswith("NAME") else "%le" for name in names) + "\n"
    path.write_text(head + types + rows)
    return path


def table(tmp_path, rows, head=HEAD):
    return beam_optics.read(written(tmp_path / "phase.tfs", head, rows))[0]


def test_rows_are_turned_to_first_less_second(tmp_path):
    near = table(tmp_path, NEIGHBORS)  # in the file NAME2 less NAME
    assert near.phase[:2].tolist() == [-0.2, -0.35]
    total = table(tmp_path, TOTALS)  # in the file NAME less NAME2
    assert total.phase.tolist() == [0.2, 0.55]
    assert (total.first, total.second) == (("b", "c"), ("a", "a"))  # a against itself is no row
    assert total.left_out == 0
    assert (total.plane, total.tune, total.model) == ("X", 0.31, {"a": 0.0, "b": 0.2, "c": 0.5})


def test_without_a_model_the_names_tell_the_direction(tmp_path):
    head = "* NAME NAME2 PHASEX ERRPHASEX\n$ %s %s %le %le\n"
    assert table(tmp_path, "a b 0.2 0.01\nb c 0.3 0.01\n", head).phase.tolist() == [-0.2, -0.3]
    assert table(tmp_path, "b a 0.2 0.01\nc a 0.3 0.01\n", head).phase.tolist() == [0.2, 0.3]


def tables_without_a_decision():
    bare, modeled = "* NAME NAME2 PHASEX ERRPHASEX\n", "* NAME NAME2 MUXMDL PHASEX ERRPHASEX PHASEXMDL\n"
    totals = "".join(
        f"m{k} m{ref} {(k - ref) / 10 % 1 + (-1) ** k * 0.002 * ref} 0.01\n"
        for ref in (1, 5)
        for k in range(1, 8)
        if k != ref
    )
    return [
        ("phase.tfs", bare, "a b 0.2 0.01\n", -1),  # one row of neighbors
        ("phase.tfs", modeled, "a b 0.1 0.2 0.01 0.2\n", -1),  # the model at b is not there
        ("total_phase_x.tfs", bare, "b a 0.2 0.01\n", 1),
        ("phase.tfs", bare, "a a 0 0\nb a 0.2 0.01\n", 1),  # only a total table has a monitor against itself
        ("phase.tfs", bare, totals, 1),  # two references
        ("phase.tfs", bare, "a b 0.2 0.01\nb c 0.3 0.01\n", -1),
    ]


@pytest.mark.parametrize(("name", "head", "rows", "sign"), tables_without_a_decision())
def test_where_the_model_does_not_decide_the_convention_is_taken_and_said(tmp_path, name, head, rows, sign):
    found = beam_optics.read(written(tmp_path / name, head, rows))[0]
    assert np.sign(found.phase[0]) == sign
    words = "NAME2 less NAME" if sign < 0 else "NAME less NAME2"
    assert f"rows are taken as {words}" in found.assumed
    assert "b" not in found.model  # the model is not turned to agree with what was assumed
    assert found.assumed in beam_optics.synchronize(found).notes


def test_where_the_model_decides_nothing_is_said(tmp_path):
    for rows in (NEIGHBORS, TOTALS):
        found = table(tmp_path, rows)
        assert found.assumed == ""
        assert "taken as NAME" not in " ".join(beam_optics.synchronize(found).notes)


def test_rows_without_a_phase_are_counted(tmp_path):
    found = table(tmp_path, TOTALS.replace("0.55", "nan"))
    assert (len(found), found.left_out) == (1, 1)


def test_units(tmp_path):
    with pytest.warns(UnitWarning, match=r"are these deg\?.*unit='deg'"):
        table(tmp_path, "b 1 a 0 0.2 72 3.6 0.2\nc 2 a 0 0.5 180 3.6 0.5\n")
    degrees = beam_optics.read(tmp_path / "phase.tfs", unit="deg")[0]
    assert degrees.phase.tolist() == pytest.approx([0.2, 0.5])
    assert degrees.error.tolist() == pytest.approx([0.01, 0.01])
    many = "".join(f"m{k} {k} a 0 {k / 40} {k / 40} 0.01 {k / 40}\n" for k in range(1, 31))
    table(tmp_path, many)
    with pytest.warns(UnitWarning, match=r"are these turn\?.*unit='turn'"):
        beam_optics.read(tmp_path / "phase.tfs", unit="deg")


def test_a_frame_of_tfs_pandas_is_a_table(tmp_path):
    tfs = pytest.importorskip("tfs")
    expected = table(tmp_path, TOTALS)
    found = beam_optics.read(tfs.read(tmp_path / "phase.tfs"))[0]
    assert found.phase.tolist() == expected.phase.tolist()
    assert found.tune == 0.31


@pytest.mark.parametrize(
    ("rows", "head", "words"),
    [
        ("a b 1\n", "* NAME NAME2 BETX\n", "there is no column PHASEX or PHASEY"),
        ("a b 1 1\n", "* NAME NAME2 PHASEX PHASEY\n", "a column PHASEX and a column PHASEY.*Name the plane"),
        ("a 0.1 0.1\n", "* NAME PHASEX ERRPHASEX\n", "no column 'NAME2' for the second monitor"),
        ("a b 0.1\n", "* NAME NAME2 PHASEX\n", "no column 'ERRPHASEX' for its standard error"),
        ("a b 0.1 -1\n", "* NAME NAME2 PHASEX ERRPHASEX\n", r"row 0 .*'ERRPHASEX': a standard error of -1"),
        ("a b 0.1 0\n", "* NAME NAME2 PHASEX ERRPHASEX\n", "no row has a standard error above 0"),
        (
            "a b 0.1 1e-200\n",
            "* NAME NAME2 PHASEX ERRPHASEX\n",
            "row 0 .*'ERRPHASEX': a standard error of 1e-200",
        ),
        (
            "a b 0.1 1e200\n",
            "* NAME NAME2 PHASEX ERRPHASEX\n",
            r"row 0 .*'ERRPHASEX': a standard error of 1e\+200",
        ),
        ("a b x 1\n", "* NAME NAME2 PHASEX ERRPHASEX\n", "'x'"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, rows, head, words):
    with pytest.raises(InputError, match=words):
        table(tmp_path, rows, head)


def test_a_wrong_call_is_refused(tmp_path):
    with pytest.raises(InputError, match="no table was named"):
        beam_optics.read()
    with pytest.raises(InputError, match="plane must be"):
        beam_optics.read("x.tfs", plane="z")
    both = "* NAME NAME2 PHASEX ERRPHASEX PHASEY ERRPHASEY\n"
    path = written(tmp_path / "phase.tfs", both, "b a 0.1 0.01 0.2 0.01\n")
    assert beam_optics.read(path, plane="y")[0].phase.tolist() == [-0.2]
    assert np.isnan(beam_optics.synchronize(beam_optics.read(path, plane="y")).delta_phase).all()


def test_what_is_not_known_is_not_called_nan(tmp_path):
    text = str(beam_optics.synchronize(table(tmp_path, "a b 0.2 0.01\n", "* NAME NAME2 PHASEX ERRPHASEX\n")))
    assert "nan" not in text
    assert "not known" in text
