"""Simulated graphs: their noise is what their informations state."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications.pose_graph import simulate
from angsync.applications.pose_graph.information import InformationModel
from angsync.errors import InputError


def test_the_noise_is_the_stated_one():
    information = np.linalg.inv([[4e-2, 1e-2, 2e-3], [1e-2, 9e-2, 0], [2e-3, 0, 1e-2]])
    seen = np.linalg.inv([[0.04, 0.01], [0.01, 0.02]])
    made = simulate(600, loops=300, landmarks=80, information=information, sighting_information=seen, rng=2)
    model = InformationModel(made.graph)
    errors = model.whitened(model.error(model.nodes(made.poses, made.landmarks)))
    edges, sightings = errors[: len(made.graph)], errors[len(made.graph) :, :2]
    for part in (edges, sightings):
        # means and covariances of normal numbers, within five standard deviations
        assert np.abs(part.mean(axis=0)).max() < 5 / np.sqrt(len(part))
        assert np.abs(part.T @ part / len(part) - np.eye(part.shape[1])).max() < 5 * np.sqrt(2 / len(part))


def test_the_same_seed_is_the_same_graph():
    one, other = (simulate(30, loops=5, landmarks=4, rng=3) for _ in range(2))
    assert np.array_equal(one.graph.motion, other.graph.motion)
    assert np.array_equal(one.graph.landmarks.offset, other.graph.landmarks.offset)
    assert one.graph.landmarks.unseen.size == 0


def test_one_pose_is_no_walk():
    with pytest.raises(InputError, match="at least 2"):
        simulate(1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"n": 2.5}, "n must be a whole number"),
        ({"loops": -1}, "loops must be a whole number"),
        ({"landmarks": -3}, "landmarks must be a whole number"),
        ({"sight": -1.0}, "sight must be"),
        ({"sight": float("nan")}, "sight must be"),
        ({"information": np.zeros((3, 3))}, "information"),
        ({"sighting_information": np.eye(3)}, "information"),
    ],
)
def test_nonsense_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        simulate(**given)
