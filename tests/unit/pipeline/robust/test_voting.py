"""Votes of the neighbors, against a loop over windows."""

from __future__ import annotations

import numpy as np
from problems import corrupted

import angsync as ang
from angsync.pipeline.robust.edges import Edges
from angsync.pipeline.robust.voting import Ballot, vote
from angsync.solvers.stopping import Clock


def test_a_node_takes_the_mode_of_its_votes_across_the_cut():
    # node 0 hears pi - 0.05, -pi + 0.05 (that is pi), and two others far apart
    edges = Edges.of(ang.Measurements([0, 0, 0, 0], [1, 2, 3, 4], [np.pi - 0.05, -np.pi + 0.05, 0.5, 1.5]))
    mode = Ballot.of(edges).modes(np.ones(5, dtype=complex), 0.2)[0]
    assert abs(np.angle(mode * np.exp(-1j * np.pi))) < 1e-12


def test_modes_agree_with_a_loop_over_windows():
    problem = corrupted(n=12, good=0.5, sigma=0.2, seed=3)
    edges = Edges.of(problem.measurements)
    z = np.exp(2j * np.pi * np.random.default_rng(1).random(12))
    width = 0.5
    found = Ballot.of(edges).modes(z, width)
    for node in range(12):
        first, second = edges.i == node, edges.j == node
        votes = np.concatenate([(edges.turn * z[edges.j])[first], (edges.turn.conj() * z[edges.i])[second]])
        best, mode = -np.inf, 0j
        for begin in votes:
            window = votes[np.angle(votes / begin) % (2 * np.pi) <= 2 * width]  # begin itself may be at -1e-17
            window = np.append(window, begin) if begin not in window else window
            score = abs(window.sum()) - np.cos(width) * window.size
            if score > best:
                best, mode = score, window.sum() / abs(window.sum())
        assert abs(found[node] - mode) < 1e-12


def test_votes_repair_a_wrong_node_and_leave_isolated_ones_alone():
    problem = corrupted(good=0.9)
    edges = Edges.of(problem.measurements)
    z = problem.z.copy()
    z[5] *= -1
    mended = vote(Ballot.of(edges), z, np.full(3, 0.1), np.random.default_rng(0), Clock())
    # a vote in the window that is wrong by chance pulls by less than the window
    assert np.abs(np.angle(ang.align(mended, problem.z) / problem.z)).max() < 0.1
    lonely = Edges.of(ang.Measurements([0], [1], [0.3], n=3))
    start = np.exp(1j * np.array([0.0, 0.0, 2.0]))
    assert vote(Ballot.of(lonely), start, np.full(2, 0.1), np.random.default_rng(0), Clock())[2] == start[2]


def test_no_sweep_after_the_time_limit(monkeypatch):
    problem = corrupted(good=0.9)
    ballot, clock = Ballot.of(Edges.of(problem.measurements)), Clock(1e6)
    sweeps = []

    def counted(_self, z, _width):
        sweeps.append(1)
        clock.max_seconds = 0.0  # the limit passes during the first sweep
        return z

    monkeypatch.setattr(Ballot, "modes", counted)
    vote(ballot, problem.z, np.full(5, 0.1), np.random.default_rng(0), clock)
    assert len(sweeps) == 2  # one half of the nodes, and the other
