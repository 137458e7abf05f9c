"""The options of a call: what each may be, and the message for everything else, before any work."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError, ShapeError
from angsync.pipeline.call import Call, Seed

GIVEN = {
    "solver": "auto", "start": "auto", "stopping": None, "certify": True, "gauge": "first", "callback": None,
    "on_failure": "warn", "rng": 0, "hermitian": "full", "anchors": None, "priors": None, "threads": None,
    "effort": "normal",
}  # fmt: skip


def checked(**options):
    """The call as ``synchronize`` makes it, with what it takes where nothing is given."""
    return Call.checked(**GIVEN | options)


class Untouchable:
    """Data that must not be looked at."""

    def __getattribute__(self, name):
        raise AssertionError(f"the data were asked for {name!r}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "fast"}, r"^solver must be one of 'auto', .*not 'fast'\.$"),
        ({"solver": ang.GPM}, r"^solver must be an instance: GPM\(\) instead of GPM\.$"),
        ({"solver": ang.Robust}, r"^solver must be an instance: Robust\(\) instead of Robust\.$"),
        ({"solver": 3}, r"^solver must have init and step, which 3 has not\.$"),
        (
            {"start": "middle"},
            r"^start must be 'auto', 'eigenvector', .*, phases or a result, not 'middle'\.$",
        ),
        ({"stopping": 1e-10}, r"^stopping must be ang.Stopping\(tolerance=...\), but it is 1e-10\.$"),
        ({"callback": 3}, r"^callback must be a function of the progress, but it is 3\.$"),
        ({"on_failure": "explode"}, r"^on_failure must be 'warn', 'raise' or 'ignore', but it is 'explode'\.$"),
        ({"hermitian": "both"}, r"^hermitian must be 'full', 'upper' or 'lower', but it is 'both'\.$"),
        ({"rng": -1}, r"^rng must be None, a whole number \(0 or more\) or a numpy Generator, but it is -1\.$"),
        ({"rng": "seed"}, r"^rng must be None, .* but it is 'seed'\.$"),
        ({"rng": 1.5}, r"^rng must be None, .* but it is 1\.5\.$"),
        ({"anchors": [1]}, r"^anchors must be a dictionary \{node: angle\}, but it is \[1\]\.$"),
        ({"priors": 2.0}, r"^priors must be a dictionary \{node: \(angle, weight\)\}, but it is 2\.0\.$"),
        ({"threads": 0}, r"^threads must be a whole number, 1 or more, but it is 0\.$"),
        ({"threads": 1.0}, r"^threads must be a whole number, 1 or more, but it is 1\.0\.$"),
        ({"threads": True}, r"^threads must be a whole number, 1 or more, but it is True\.$"),
    ],
)
def test_a_wrong_option_is_said_before_the_data_are_looked_at(options, message):
    with pytest.raises(InputError, match=message):
        ang.synchronize(Untouchable(), **options)


def test_the_data_are_looked_at_once_the_options_are_good():
    with pytest.raises(AssertionError, match="the data were asked for"):
        ang.synchronize(Untouchable())


def test_what_was_given_is_kept():
    def watch(progress):
        return None

    stopping = ang.Stopping(max_iterations=7)
    call = checked(stopping=stopping, callback=watch, gauge=3, certify=0, threads=np.int64(2), hermitian="upper")
    assert call.stopping is stopping
    assert call.callback is watch
    assert (call.gauge, call.certify, call.hermitian) == (3, False, "upper")
    assert type(call.threads) is int
    with pytest.raises(dataclasses.FrozenInstanceError):
        call.gauge = "mean"


def test_nothing_given_is_what_a_call_made_by_hand_has():
    plain, by_hand = checked(), Call()
    for field in dataclasses.fields(Call):
        if field.name != "seed":
            assert getattr(plain, field.name) == getattr(by_hand, field.name), field.name
    assert plain.is_free_to_start_anywhere
    assert checked(anchors={}, priors={}).anchors is None  # no anchors are none


def test_a_robust_fit_is_no_solver():
    settings = ang.Robust()
    call = checked(solver=settings)
    assert call.robust is settings
    assert call.solver is None
    solver = ang.GPM(4.0)
    assert checked(solver=solver).solver is solver
    assert checked(solver=solver).robust is None


def test_a_start_is_a_name_or_phases_for_every_node():
    assert checked(start="spanning_tree").start_for(4) == "spanning_tree"
    assert not checked(start="spanning_tree").is_free_to_start_anywhere
    np.testing.assert_allclose(checked(start=[2, 3j]).start_for(2), [1, 1j])
    with pytest.raises(ShapeError, match="start must be a vector of length 3"):
        checked(start=[1, 1j]).start_for(3)
    result = ang.synchronize(np.ones((3, 3)))
    assert checked(start=result).start is result.phases


def test_a_start_on_a_device_comes_to_the_host(device):
    phases = np.exp(1j * np.arange(3.0))
    start = checked(start=device(phases)).start
    assert type(start) is np.ndarray
    np.testing.assert_array_equal(start, phases)


@pytest.mark.parametrize("rng", [0, 5, np.int64(5), None, np.random.default_rng(3)])
def test_one_call_has_one_generator(rng):
    seed = Seed(rng)
    assert seed.generator is seed.generator
    if isinstance(rng, np.random.Generator):
        assert seed.generator is rng
    elif rng is not None:
        assert seed.generator.random() == np.random.default_rng(rng).random()


def test_a_call_with_another_option_goes_on_with_the_same_random_numbers():
    call = checked(rng=4)
    other = dataclasses.replace(call, gauge="mean")
    expected = np.random.default_rng(4).random(2)
    assert [call.seed.generator.random(), other.seed.generator.random()] == expected.tolist()


def test_starting_from_an_earlier_result_and_from_phases():
    problem = ang.simulate.gaussian(40, 0.5, rng=0)
    first = ang.synchronize(problem.C)
    again = ang.synchronize(problem.C, start=first)
    assert again.iterations == 0
    assert ang.distance(again.z, first.z) < 1e-9
    assert ang.synchronize(problem.C, start=2.5 * first.z).iterations == 0  # any modulus: phases count


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("best", "start must be"),
        (np.ones(3), "length 4"),
        (np.array([1, 1, 0, 1]), r"start\[2\] is 0"),
        (np.array([1, 1, np.nan, 1]), r"start\[2\]"),
        (np.array(["a"] * 4), "numeric"),
    ],
)
def test_bad_starts(start, message):
    with pytest.raises(ang.errors.InputError, match=message):
        ang.synchronize(np.ones((4, 4)), start=start)
