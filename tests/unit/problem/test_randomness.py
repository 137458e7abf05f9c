"""Seeds: what is one, and that there is no global state."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.errors import InputError
from angsync.problem.randomness import random_generator


def test_a_seed_gives_the_numbers_of_numpy():
    assert random_generator(7).random() == np.random.default_rng(7).random()
    assert random_generator(None).random() != random_generator(None).random()


def test_a_generator_is_used_as_it_is_and_the_global_state_is_left_alone():
    rng = np.random.default_rng(0)
    assert random_generator(rng) is rng
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    random_generator(3).random(100)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("rng", [-1, 1.5, "seed", object()])
def test_what_is_no_seed(rng):
    with pytest.raises(InputError, match="rng must be None, a whole number"):
        random_generator(rng)
