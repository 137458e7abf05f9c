"""Pieces of a triangle, without a cluster: which blocks, what they add up to, what is kept, what is noticed."""

from __future__ import annotations

import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest
from stored import Slices

import angsync as ang
from angsync.errors import InputError
from angsync.problem.operators import pieces
from angsync.problem.operators.cutting import pieces_of
from angsync.problem.operators.first_read import Triangle
from angsync.problem.operators.pieces import Piece, Plan, load, multiply
from angsync.problem.stored import StoredArray
from angsync.problem.workers import version

pytest.importorskip("distributed")


def whole(n=300, dtype=np.complex64, chunks=(50, 50)):
    C = ang.simulate.gaussian(n, 1.0, rng=1).C.astype(dtype)
    return C, Slices(C, chunks)


def a_plan(source, runs=None, side=50, **settings):
    count = -(-source.shape[0] // side)
    runs = runs or (tuple(pieces_of(count, [1])[0]),)
    return Plan("test", version(), Triangle(StoredArray(source)), side, 40, runs, **settings)


def parts(plan, x):
    return {k: x[plan.rows(k)] for k in plan.touched}


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128, np.float32])
@pytest.mark.parametrize("n", [300, 333])
@pytest.mark.parametrize("width", [(), (3,)])
def test_the_product_is_that_of_the_matrix_without_its_diagonal(dtype, n, width):
    C, source = whole(n, np.complex64)
    if dtype == np.float32:
        C = C.real.astype(dtype)
        source = Slices(C, (50, 50))
    plan = a_plan(source)
    x = np.random.default_rng(0).standard_normal((n, *width)) * np.exp(1j)
    share = multiply(load(plan), parts(plan, x), {})
    y = np.concatenate([share.rows[k] for k in range(plan.touched[-1] + 1)])
    wide = C.astype(np.complex128)
    np.fill_diagonal(wide, 0)
    assert np.abs(y - wide @ x).max() < 1e-13 * np.abs(wide).sum(axis=1).max()


def test_kept_or_read_again_gives_the_same_bits():
    _, source = whole()
    x = np.exp(1j * np.arange(300.0))
    kept, streamed = load(a_plan(source)), load(a_plan(source, keeps=False))
    first, second = (multiply(piece, parts(piece.plan, x), {}) for piece in (kept, streamed))
    assert all(np.array_equal(first.rows[k], second.rows[k]) for k in first.rows)
    assert first.bytes_read == 0
    assert second.bytes_read == 21 * 50 * 50 * 8


def test_runs_are_added_in_their_order_whatever_thread_ends_first(monkeypatch):
    _, source = whole()
    blocks = pieces_of(6, [1])[0]
    plan = a_plan(source, runs=(tuple(blocks[:7]), tuple(blocks[7:14]), tuple(blocks[14:])))
    piece, x = load(plan), np.exp(1j * np.arange(300.0))
    expected = multiply(piece, parts(plan, x), {}).rows
    run, last = pieces._run, threading.Event()

    def late(piece, blocks, x):
        if blocks == plan.runs[0]:
            last.wait(10)
        done = run(piece, blocks, x)
        if blocks == plan.runs[2]:
            last.set()
        return done

    monkeypatch.setattr(pieces, "_run", late)
    found = multiply(piece, parts(plan, x), {}).rows
    assert all(np.array_equal(found[k], expected[k]) for k in expected)


def test_a_piece_travels_without_its_blocks_and_finds_them_where_it_was():
    _, source = whole()
    piece = load(a_plan(source))
    assert piece.__sizeof__() > 300 * 250 * 4
    pickled = pickle.dumps(Piece(a_plan(Slices(source.array[:0], (50, 50)), runs=(((0, 0),),))))
    assert len(pickled) < 2000
    pieces._waiting.clear()
    moved_out = pickle.dumps(piece)
    back = pickle.loads(moved_out)
    assert back.__sizeof__() == piece.__sizeof__()
    assert pickle.loads(moved_out).__sizeof__() < 2000  # as on another worker: it reads its blocks again
    assert not pieces._waiting


def test_blocks_are_kept_as_far_as_the_memory_limit_allows(monkeypatch):
    import psutil

    _, source = whole()
    used = psutil.Process().memory_info().rss
    monkeypatch.setattr(pieces, "_WORKER_BYTES", 0)
    monkeypatch.setattr(pieces, "_memory_limit", lambda: used)  # so that 0.75 of it are full already
    piece = load(a_plan(source))
    assert piece.__sizeof__() < 2000
    pieces._waiting["another"] = {}
    pieces._has_room(piece.plan)
    assert "another" not in pieces._waiting  # what may be forgotten makes room first


def test_too_little_memory_for_one_block_is_refused(monkeypatch):
    _, source = whole()
    monkeypatch.setattr(pieces, "_memory_limit", lambda: 100_000_000)
    with pytest.raises(InputError, match=r"limit of 0\.10 GB, and needs 0\.15 GB .* 50 x 50"):
        load(a_plan(source))


@pytest.mark.parametrize("keeps", [True, False])
def test_a_store_that_changes_is_noticed(keeps):
    _, source = whole()
    plan, x = a_plan(source, keeps=keeps), np.exp(1j * np.arange(300.0))
    piece = load(plan)
    before = dict(piece.checksums)
    source.array[120, 260] += 1e-3
    if keeps:  # what is in memory is what it was; another worker would read the new numbers
        multiply(piece, parts(plan, x), before)
        piece = load(plan)
    with pytest.raises(InputError, match=r"C\[100:150, 250:300\] is not what it was"):
        multiply(piece, parts(plan, x), before)


def test_another_version_is_refused():
    _, source = whole()
    plan = a_plan(source)
    piece, other = load(plan), replace(plan, version="0.0.1")
    for task in (lambda: load(other), lambda: multiply(Piece(other), {}, {})):
        with pytest.raises(InputError, match=r"has angsync .*, the client 0\.0\.1"):
            task()
    assert piece.plan.version == version()
