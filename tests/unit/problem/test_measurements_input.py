"""What users put into Measurements: masked arrays, ids, degrees, huge numbers; and copies of what came out."""

import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pytest

import angsync as ang
from angsync.errors import DisconnectedWarning, InputError, NotFiniteError, UnitWarning
from angsync.problem.measurements import Measurements

HIDE_LAST = [False, False, True]


def masked(values, mask=HIDE_LAST):
    return np.ma.array(values, mask=mask)


TRIANGLE = Measurements([0, 1], [1, 2], [0.1, 0.2])


# masked arrays


@pytest.mark.parametrize(
    "edges",
    [
        lambda: Measurements([0, 1, 2], [1, 2, 0], masked([0.1, 0.2, 9.0])),
        lambda: Measurements([0, 1, 2], [1, 2, 0], masked([0.1, 0.2, np.nan])),
        lambda: Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, 9.0], weight=masked([1.0, 1.0, -5.0])),
        lambda: Measurements(masked([0, 1, -7]), [1, 2, 0], [0.1, 0.2, 9.0]),
        lambda: Measurements([0, 1, 2], masked([1, 2, 10**12]), [0.1, 0.2, 9.0]),
        lambda: Measurements(masked([0, 1, 2]), masked([1, 2, 2]), [0.1, 0.2, 9.0]),
        lambda: Measurements([0, 1, 2], [1, 2, 2], masked([0.1, 0.2, 9.0])),
        lambda: Measurements([0, 1, 2], [1, 2, 0], masked([5.729577951308232, 11.459155902616464, 500.0]), unit="deg"),
    ],
)
def test_a_masked_entry_drops_its_measurement(edges):
    edges = edges()
    np.testing.assert_array_equal(edges.i, [0, 1])
    np.testing.assert_array_equal(edges.j, [1, 2])
    np.testing.assert_allclose(edges.angle, [0.1, 0.2], rtol=1e-15)
    np.testing.assert_array_equal(edges.weight, [1.0, 1.0])
    np.testing.assert_array_equal(edges.kept, [0, 1])
    assert edges.n == 3
    assert not any(isinstance(column, np.ma.MaskedArray) for column in (edges.i, edges.j, edges.angle, edges.weight))


def test_a_masked_complex_value_drops_its_measurement():
    edges = Measurements([0, 1, 2], [1, 2, 0], value=masked([2j, 1.0, np.nan]))
    np.testing.assert_array_equal(edges.modulus, [2.0, 1.0])
    np.testing.assert_array_equal(edges.kept, [0, 1])


def test_masked_labels():
    names = np.ma.array(["x", "b", "c"], mask=[True, False, False])
    edges = Measurements(names, ["d", "c", "a"], [9.0, 0.2, 0.3])
    assert edges.labels == ("b", "c", "a")
    np.testing.assert_array_equal(edges.kept, [1, 2])
    np.testing.assert_array_equal(edges.angle, [0.2, 0.3])
    edges = Measurements([("t", 1), ("t", 2)], np.ma.array(["a", "hidden"], mask=[0, 1]), [0.1, 0.2])
    assert edges.labels == (("t", 1), "a")


def test_what_is_returned_is_about_the_measurements_kept():
    edges = Measurements([0, 1, 2, 3], [1, 2, 0, 0], np.ma.array([0.1, 9.0, -0.3, 0.4], mask=[0, 1, 0, 0]))
    result = ang.synchronize(edges)
    np.testing.assert_allclose(result.angles, [0, -0.1, -0.3, 0.4], atol=1e-12)
    assert result.edge_residuals().wrapped.size == 3
    np.testing.assert_array_equal(edges.kept, [0, 2, 3])


def test_a_node_of_masked_measurements_only_stays_a_node():
    edges = Measurements([0, 1, 2], [1, 2, 3], masked([0.1, 0.2, 0.3]))
    assert edges.n == 4
    with pytest.warns(DisconnectedWarning, match=r"1 isolated node\(s\) \(3\)"):
        ang.synchronize(edges)


def test_nothing_masked_keeps_everything_in_its_place():
    edges = Measurements(np.ma.array([0, 1]), [1, 2], np.ma.array([0.1, 0.2]), np.ma.array([1.0, 2.0]))
    np.testing.assert_array_equal(edges.kept, [0, 1])
    np.testing.assert_array_equal(TRIANGLE.kept, [0, 1])


def test_everything_masked():
    everything = np.ma.array([0, 1], mask=True)
    with pytest.raises(InputError, match=r"every measurement is masked.*Give n"):
        Measurements(everything, [1, 2], [0.1, 0.2])
    assert len(Measurements(everything, [1, 2], [0.1, 0.2], n=4)) == 0
    assert Measurements(everything, ["b", "c"], [0.1, 0.2], labels="abc").n == 3
    assert len(Measurements([0, 1], [1, 2], np.ma.masked)) == 0


def test_messages_name_the_row_given_also_behind_masked_ones():
    with pytest.raises(InputError, match=r"i\[2\] is -4"):
        Measurements(np.ma.array([0, 1, -4], mask=[1, 0, 0]), [1, 2, 0], [0.1, 0.2, 0.3])
    with pytest.raises(InputError, match=r"edge 2 joins node 0 to itself"):
        Measurements(np.ma.array([0, 1, 0], mask=[1, 0, 0]), [1, 2, 0], [0.1, 0.2, 0.3])
    with pytest.raises(NotFiniteError, match=r"angle\[2\] is nan"):
        Measurements(np.ma.array([0, 1, 2], mask=[1, 0, 0]), [1, 2, 0], [0.1, 0.2, np.nan])


def test_masked_entries_of_a_matrix_are_absent_pairs():
    C = np.ma.array([[0, 1j, 5], [-1j, 0, 1], [5, 1, 0]], mask=np.zeros((3, 3)))
    C[2, 0] = np.ma.masked  # in one triangle only
    edges = Measurements.from_matrix(C)
    np.testing.assert_array_equal(edges.i, [0, 1])
    np.testing.assert_array_equal(edges.j, [1, 2])


# ids


def test_ids_far_beyond_their_number_are_labels_in_order():
    edges = Measurements([10**9 + 1, 10**9 + 2], [10**9, 10**9 + 1], [0.1, 0.2])
    assert edges.labels == (10**9, 10**9 + 1, 10**9 + 2)
    np.testing.assert_array_equal(edges.i, [1, 2])
    np.testing.assert_array_equal(edges.j, [0, 1])
    np.testing.assert_allclose(ang.synchronize(edges).angles, [0, 0.1, 0.3], atol=1e-12)


@pytest.mark.parametrize("kind", [np.int64, np.uint64, float])
def test_ids_of_any_whole_type(kind):
    edges = Measurements(np.array([2020, 2021], dtype=kind), np.array([2021, 2022]), [0.1, 0.2])
    assert edges.labels == (2020, 2021, 2022)
    assert all(type(label) is int for label in edges.labels)


def test_hashes_of_64_bits_are_not_rounded():
    big = np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64)
    edges = Measurements(big, np.array([2**63 - 5, 2**63 - 5]), [0.1, 0.2])
    assert edges.labels == (2**63 - 5, 2**64 - 2, 2**64 - 1)


def test_few_gaps_keep_the_meaning_of_indices():
    rng = np.random.default_rng(0)
    i = rng.choice(5000, 400, replace=False)  # 400 of 5000: fewer than nine in ten are missing with their ends
    edges = Measurements(i, (i + 1) % 5000, np.zeros(400))
    assert edges.labels is None
    assert edges.n == max(i.max(), ((i + 1) % 5000).max()) + 1
    assert Measurements([3], [700], [0.1]).n == 701  # below 1000 always


def test_the_limit_is_nine_in_ten_nodes_without_measurement():
    assert Measurements(np.zeros(99, dtype=int), np.r_[1:99, 999], np.zeros(99)).labels is None  # 100 of 1000
    assert Measurements(np.zeros(98, dtype=int), np.r_[1:98, 999], np.zeros(98)).labels is not None  # 99 of 1000


def test_n_keeps_the_meaning_of_indices_unless_there_is_no_memory_for_it():
    assert Measurements([5], [4000], [0.1], n=5000).n == 5000
    with pytest.raises(InputError, match=r"n = 1000000000000 nodes need at least .* GB of memory.*labels"):
        Measurements([5], [4000], [0.1], n=10**12)


def test_labels_given_keep_the_meaning_of_indices():
    with pytest.raises(InputError, match="out of range"):
        Measurements([10**9], [1], [0.1], labels=["a", "b"])


@pytest.mark.parametrize("bad", [1e19, 2.0**53 + 2])
def test_a_float_too_large_to_be_a_whole_number_is_refused(bad):
    with pytest.raises(InputError, match=r"i\[1\] is .*2\*\*53.*integers or text"):
        Measurements([0.0, bad], [1, 0], [0.1, 0.2])


@pytest.mark.parametrize(("first", "hint"), [(1, "begin at 1"), (3, "begin at 3")])
def test_ids_that_begin_at_one_are_asked_about(first, hint):
    with pytest.warns(DisconnectedWarning, match=rf"isolated node.*ids {hint}\?.*[Ss]ubtract {first}"):
        ang.synchronize(Measurements([first, first + 1], [first + 1, first + 2], [0.1, 0.2]))


def test_other_isolated_nodes_are_no_sign_of_that():
    with pytest.warns(DisconnectedWarning) as heard:
        ang.synchronize(Measurements([0, 1], [1, 3], [0.1, 0.2]))
    assert "begin" not in str(heard[0].message)


# units


@pytest.mark.parametrize(("unit", "turn"), [("rad", 2 * np.pi), ("deg", 360.0), ("turn", 1.0)])
def test_units(unit, turn):
    parts = np.array([0.25, -0.125, 0.5, 0.75])
    edges = Measurements([0, 1, 2, 3], [1, 2, 3, 0], parts * turn, unit=unit)
    np.testing.assert_allclose(edges.angle, 2 * np.pi * parts, rtol=1e-15)


def test_whole_turns_are_taken_off_exactly():
    edges = Measurements([0, 1], [1, 2], [360e9 + 90, 90.0], unit="deg")
    assert edges.angle[0] == edges.angle[1]
    edges = Measurements([0, 1], [1, 2], [2.0**40 + 0.25, 0.25], unit="turn")
    assert edges.angle[0] == edges.angle[1]


@pytest.mark.parametrize("unit", ["degrees", "grad", None, 3])
def test_an_unknown_unit_is_refused(unit):
    with pytest.raises(InputError, match=r"unit must be 'rad', 'deg' or 'turn'"):
        Measurements([0], [1], [0.1], unit=unit)


def test_complex_values_have_no_unit():
    with pytest.raises(InputError, match=r"unit='deg'.*complex values have no unit"):
        Measurements([0], [1], value=[1j], unit="deg")


def test_degrees_given_as_radians_are_heard_of():
    with pytest.warns(UnitWarning, match=r"3 of 3 angles exceed 2 pi.*largest is 210.*unit='deg'") as heard:
        Measurements([0, 1, 2], [1, 2, 0], [90, 120, -210])
    assert heard[0].filename == __file__


@pytest.mark.parametrize(
    "edges",
    [
        lambda: Measurements([0, 1], [1, 2], [90, 120], unit="deg"),
        lambda: Measurements([0, 1, 2, 3], [1, 2, 3, 0], [7.0, 7.0, 1.0, 1.0]),  # half of them only
        lambda: Measurements([0, 1], [1, 2], masked([0.1, 90.0], [0, 1])),
        lambda: Measurements([], [], [], n=2),
        lambda: Measurements([0], [1], [2 * np.pi]),
    ],
)
def test_no_such_warning_where_there_is_no_reason(edges):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = edges()
    assert isinstance(found, Measurements)


def test_one_warning_a_problem():
    with pytest.warns(UnitWarning):
        edges = Measurements([0, 1, 2], [1, 2, 0], [90, 120, -210])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnitWarning)
        ang.synchronize(edges, solver=ang.Robust(), anchors={0: 0.5}, on_failure="ignore").standard_errors(0.1)


@pytest.mark.parametrize(
    ("angle", "unit"),
    [(1e300, "rad"), (1e15, "rad"), (-1e17, "deg"), (1e15, "turn"), (10**30, "rad")],
)
def test_an_angle_without_digits_modulo_one_turn_is_refused(angle, unit):
    with pytest.raises(InputError, match=r"angle\[1\] is .*nothing is left of it modulo .* wrap"):
        Measurements([0, 1], [1, 2], np.array([0, angle]), unit=unit)


def test_single_precision_has_fewer_digits():
    with pytest.raises(InputError, match=r"angle\[0\] is 1e\+07 rad: numbers of this size are 1 apart"):
        Measurements([0], [1], np.array([1e7], dtype=np.float32))


def test_large_angles_that_still_mean_something_are_accepted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnitWarning)
        assert len(Measurements([0], [1], [1e12])) == 1
    with pytest.raises(InputError, match=r"angle must be numeric"):
        Measurements([0], [1], [10**400])


# numbers too large


@pytest.mark.parametrize("given", [{"weight": [1.0, 1e308]}, {"weight": 1e306}])
def test_weights_near_overflow_are_refused(given):
    with pytest.raises(InputError, match=r"weight\[\d\] is 1e\+30.*too near to overflow.*divide"):
        Measurements([0, 1], [1, 2], [0.1, 0.2], **given, n=100)


def test_values_near_overflow_are_refused():
    with pytest.raises(InputError, match=r"value\[0\].*too near to overflow"):
        Measurements([0, 1], [1, 2], value=[1e300, 1.0], weight=1e8)


def test_large_weights_that_do_no_harm_are_accepted():
    assert ang.synchronize(Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, -0.2], weight=1e300)).converged


# copies


VALUES = Measurements(["a", "b"], ["b", "c"], value=[2j, 1.0], weight=[1.0, 3.0])


@pytest.mark.parametrize("edges", [TRIANGLE, VALUES, Measurements([0], [1], masked([0.1], [False]), n=4)])
def test_copies_are_equal(edges):
    for make in (copy.copy, copy.deepcopy, dataclasses.replace, lambda m: pickle.loads(pickle.dumps(m))):
        other = make(edges)
        assert other == edges
        assert hash(other) == hash(edges)
        np.testing.assert_array_equal(other.kept, edges.kept)
        assert not any(column.flags.writeable for column in (other.i, other.j, other.angle, other.weight))


def test_different_measurements_are_not_equal():
    assert dataclasses.replace(TRIANGLE, angle=[0.1, 0.3]) != TRIANGLE
    assert dataclasses.replace(TRIANGLE, n=4) != TRIANGLE
    assert dataclasses.replace(TRIANGLE, labels=("a", "b", "c")) != TRIANGLE
    assert dataclasses.replace(VALUES, modulus=None) != VALUES
    assert TRIANGLE != "something else"


def test_replaced_weights_leave_the_rest():
    heavier = dataclasses.replace(VALUES, weight=[5.0, 5.0])
    np.testing.assert_array_equal(heavier.modulus, VALUES.modulus)
    np.testing.assert_array_equal(heavier.angle, VALUES.angle)
    assert heavier.labels == VALUES.labels


def test_modulus_goes_with_angles_only():
    with pytest.raises(InputError, match="modulus"):
        Measurements([0], [1], value=[1j], modulus=[2.0])
    with pytest.raises(InputError, match=r"modulus\[0\] is -2"):
        Measurements([0], [1], [0.1], modulus=[-2.0])
