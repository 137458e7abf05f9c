"""Tables of links."""

import numpy as np
import pytest

from angsync.applications import clocks
from angsync.applications.clocks.links import joined
from angsync.errors import AngsyncWarning, InputError


def test_a_column_says_its_unit_and_units_are_converted(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("i,j,offset_us,sigma_us\na,b,3,0.1\nb,c,4,0.2\n")
    links = clocks.read(path)
    assert links.unit == "us"
    in_ns = links.to("ns")
    np.testing.assert_allclose(in_ns.offset, [3000, 4000])
    np.testing.assert_allclose(in_ns.sigma, [100, 200])
    assert clocks.synchronise(path, unit="ms").offset[0] - clocks.synchronise(path, unit="ms").offset[1] == (
        pytest.approx(0.003)
    )


def test_several_files_are_one_network():
    one = clocks.Links(("a", "b"), np.array([0]), np.array([1]), np.array([1.0]), unit="ms")
    two = clocks.Links(("b", "c"), np.array([0]), np.array([1]), np.array([2000.0]), unit="us")
    both = joined([one, two])
    assert both.clocks == ("a", "b", "c")
    assert (both.i.tolist(), both.j.tolist(), both.offset.tolist()) == ([0, 1], [1, 2], [1.0, 2.0])


def test_misspelt_clocks_are_warned_of_but_addresses_are_not():
    rows = {"i": ["station", "station", "Station"], "j": ["b", "c", "b"], "offset": [1.0, 2.0, 1.0]}
    with pytest.warns(AngsyncWarning, match="may be one clock in two spellings"):
        clocks.synchronise(rows)
    clocks.synchronise({"i": ["10.0.0.11", "10.0.0.11"], "j": ["10.0.01.1", "10.0.0.12"], "offset": [1.0, 2.0]})


def test_a_wrong_sigma_in_a_table_has_its_line(tmp_path):
    path = tmp_path / "links.csv"
    path.write_text("i,j,offset,sigma\na,b,3,0.1\nb,c,4,0\n")
    with pytest.raises(InputError, match="line 3: sigma is 0"):
        clocks.synchronise(path)
