"""Checkpoints: whatever write a kill comes after, the call that resumes ends where the undisturbed one does."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from checkpoints import Stored, solved, with_every_write

import angsync as ang
from angsync.errors import AngsyncWarning, FileFormatError, InputError, OutputError
from angsync.pipeline import journal as module
from angsync.pipeline import multistart
from angsync.pipeline.checkpoint import Checkpoint
from angsync.problem.operators import streamed


def two_pieces():
    grid = ang.simulate.grid(12, 12, sigma=0.6, rng=3).measurements
    other = ang.simulate.grid(9, 8, sigma=0.3, rng=4).measurements
    return ang.Measurements(
        np.r_[grid.i, other.i + grid.n], np.r_[grid.j, other.j + grid.n], np.r_[grid.angle, other.angle]
    )


PROBLEMS = {
    "dense, one call": lambda: ang.simulate.gaussian(60, 2.0, rng=1).C,
    "dense, several optima": lambda: ang.simulate.gaussian(40, 4.0, rng=1).C,
    "dense, single precision": lambda: ang.simulate.gaussian(60, 2.0, rng=1).C.astype(np.complex64),
    "sparse": lambda: ang.simulate.grid(50, 50, sigma=0.5, rng=1).measurements,
    "sparse, two pieces": two_pieces,
    "streamed": lambda: Stored(ang.simulate.gaussian(120, 3.0, rng=1).C),
    "streamed, several optima": lambda: Stored(ang.simulate.gaussian(90, 10.0, rng=1).C),
    "products": lambda: ang.as_operator(ang.simulate.gaussian(60, 2.0, rng=1).C),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_after_every_write_a_resumed_call_ends_where_the_undisturbed_one_does(name, tmp_path, monkeypatch):
    if name.startswith("streamed"):
        monkeypatch.setattr(streamed, "LOADED_UP_TO_BYTES", 1000)
    data = PROBLEMS[name]()
    plain = solved(data)
    result, copies = with_every_write(data, tmp_path, monkeypatch)
    assert result.z.tobytes() == plain.z.tobytes()  # the same bits with and without
    assert result.matvecs == plain.matvecs
    assert not (tmp_path / "check").exists()  # a solve that went to its end needs it no longer
    assert copies
    single = result.z.dtype == np.complex64
    for copy in copies[:: max(1, len(copies) // 3)] + copies[-1:]:
        again = solved(data, checkpoint=Checkpoint(copy, resume=True))
        scale = abs(plain.objective)
        assert again.objective >= plain.objective - (1e-6 if single else 1e-12) * scale
        assert again.certificate.verdict is plain.certificate.verdict
        assert again.status is plain.status
        assert not copy.exists()


def test_what_has_ended_is_not_done_again(tmp_path, monkeypatch):
    data = ang.simulate.gaussian(40, 4.0, rng=1).C
    result, copies = with_every_write(data, tmp_path, monkeypatch)
    monkeypatch.setattr(multistart, "rank_two_start", lambda *_: pytest.fail("a start was made again"))
    again = solved(data, checkpoint=Checkpoint(copies[-1], resume=True))
    assert again.starts.objectives == pytest.approx(result.starts.objectives, rel=1e-12)
    assert len(again.starts.objectives) > 2


def test_a_limit_of_time_or_steps_leaves_the_file_and_the_next_call_goes_on(tmp_path):
    data = ang.simulate.grid(20, 20, sigma=0.4, rng=2).measurements
    few = ang.Stopping(max_iterations=1)
    path = tmp_path / "check"
    first = solved(data, stopping=few, checkpoint=path, solver=ang.Newton())
    assert first.status is ang.Status.ITERATION_LIMIT
    assert path.exists()
    more = Checkpoint(path, resume=True)
    again = solved(data, checkpoint=more, solver=ang.Newton())
    assert again.converged
    assert not path.exists()


def test_ctrl_c_writes_the_last_checkpoint(tmp_path):
    data, path = ang.simulate.gaussian(60, 2.0, rng=1).C, tmp_path / "check"
    seen = []

    def stop(progress):
        seen.append(progress.objective)
        if len(seen) == 3:
            raise KeyboardInterrupt

    result = solved(data, callback=stop, checkpoint=Checkpoint(path, every_seconds=1000))
    assert result.status is ang.Status.INTERRUPTED
    again = solved(data, checkpoint=Checkpoint(path, resume=True, keep=True))
    assert again.certificate.verdict is ang.Verdict.CERTIFIED
    assert again.iterations < solved(data).iterations
    assert path.exists()  # keep=True
    last = solved(data, checkpoint=Checkpoint(path, resume=True))
    assert last.objective == pytest.approx(again.objective, rel=1e-13)


def test_a_failure_that_is_raised_leaves_the_file_too(tmp_path):
    data, path = ang.simulate.grid(20, 20, sigma=0.4, rng=2).measurements, tmp_path / "check"
    with pytest.raises(ang.errors.ConvergenceError):
        ang.synchronize(
            data, stopping=ang.Stopping(max_iterations=1), solver=ang.Newton(), on_failure="raise", checkpoint=path
        )
    assert path.exists()


def test_an_error_in_a_callback_leaves_the_file_too(tmp_path):
    path = tmp_path / "check"

    def broken(progress):
        if progress.iteration == 3:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ang.synchronize(ang.simulate.gaussian(60, 2.0, rng=1).C, callback=broken, checkpoint=path)
    assert path.exists()


def test_many_components_are_few_arrays(tmp_path, monkeypatch):
    piece = ang.simulate.ring(40, sigma=0.2, rng=1).measurements
    count = 30
    shift = np.repeat(np.arange(count) * piece.n, len(piece))
    data = ang.Measurements(
        np.tile(piece.i, count) + shift, np.tile(piece.j, count) + shift, np.tile(piece.angle, count)
    )
    monkeypatch.setattr("angsync.pipeline.by_components.is_worth_stacks", lambda *_: False)
    plain = solved(data)
    _, copies = with_every_write(data, tmp_path, monkeypatch)
    with np.load(copies[-1]) as arrays:
        assert len(arrays.files) < 10
    again = solved(data, checkpoint=Checkpoint(copies[-1], resume=True))
    assert again.objective == pytest.approx(plain.objective, rel=1e-13)
    assert again.certificate.verdict is plain.certificate.verdict


def test_of_short_solves_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "save", lambda *_: pytest.fail("written"))
    monkeypatch.setattr(module, "_WORTH_SECONDS", 1000.0)
    solved(ang.simulate.gaussian(60, 2.0, rng=1).C, checkpoint=tmp_path / "check")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_problems_have_nothing_to_keep(n, tmp_path):
    result = solved(np.ones((n, n), dtype=complex), checkpoint=Checkpoint(tmp_path / "check", every_seconds=0))
    assert result.converged
    assert os.listdir(tmp_path) == []


def changed(C, entry):
    C = C.copy()
    C[entry] *= np.exp(1e-6j)
    C[entry[::-1]] = np.conj(C[entry])
    return C


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (lambda C: C[:-1, :-1], {}, "number of nodes was 60 and is 59"),
        (lambda C: C.astype(np.complex64), {}, "precision was 'complex128' and is 'complex64'"),
        (lambda C: changed(C, (3, 7)), {}, "entries differ in 2 of 60 rows (of nodes 3, 7"),
        (lambda C: C, {"effort": "high"}, "effort was 'normal' and is 'high'"),
        (lambda C: C, {"rng": 5}, "rng (--seed) was another one"),
        (lambda C: C, {"solver": ang.Newton()}, "solver was 'auto' and is \"Newton("),
        (lambda C: C, {"start": "random"}, "start was 'auto' and is 'random'"),
        (lambda C: C, {"certify": False}, "certify was True and is False"),
        (lambda C: C, {"stopping": ang.Stopping(tolerance=1e-6)}, "tolerance was 1e-10 and is 1e-06"),
    ],
)
def test_a_checkpoint_of_another_solve_is_refused_and_says_what_differs(data, options, words, tmp_path, monkeypatch):
    C = ang.simulate.gaussian(60, 2.0, rng=1).C
    _, copies = with_every_write(C, tmp_path, monkeypatch)
    with pytest.raises(InputError) as refusal:
        ang.synchronize(data(C), checkpoint=Checkpoint(copies[0], resume=True), **options)
    assert words in str(refusal.value)
    assert copies[0].exists()


def test_other_limits_and_threads_are_the_same_solve(tmp_path, monkeypatch):
    C = ang.simulate.gaussian(60, 2.0, rng=1).C
    result, copies = with_every_write(C, tmp_path, monkeypatch)
    limits = {"stopping": ang.Stopping(max_seconds=100), "threads": 2}
    again = solved(C, checkpoint=Checkpoint(copies[0], resume=True), **limits)
    assert again.objective == pytest.approx(result.objective, rel=1e-12)


def test_damaged_files_and_other_files_are_refused(tmp_path, monkeypatch):
    C = ang.simulate.gaussian(60, 2.0, rng=1).C
    _, copies = with_every_write(C, tmp_path, monkeypatch)
    content = copies[0].read_bytes()
    other = tmp_path / "other"

    def refused(match):
        with pytest.raises(FileFormatError, match=match):
            ang.synchronize(C, checkpoint=Checkpoint(other, resume=True))

    for length in (0, 10, len(content) // 2, len(content) - 1):
        other.write_bytes(content[:length])
        refused("other")
    flipped = bytearray(content)
    flipped[content.index(b"complex128.npy") + 200] ^= 1
    other.write_bytes(bytes(flipped))
    refused("other")
    with open(other, "wb") as stream:
        np.savez(stream, format=np.array("angsync-result"))
    refused("is no checkpoint")
    with np.load(copies[0]) as arrays, open(other, "wb") as stream:
        np.savez(stream, **{**arrays, "format_version": np.array(1)})
    refused("format '1'")


def test_a_file_that_is_there_is_not_overwritten_without_being_asked(tmp_path):
    path = tmp_path / "check"
    solved(ang.simulate.gaussian(n=40, sigma=0.5, rng=0).C, checkpoint=Checkpoint(path, every_seconds=0, keep=True))
    mine = path.read_bytes()
    with pytest.raises(InputError, match="resume=True"):
        ang.synchronize(np.eye(3), checkpoint=path)
    assert path.read_bytes() == mine


def test_a_full_disk_is_said_once_and_loses_nothing(tmp_path, monkeypatch):
    def save(path, content):
        raise OutputError(f"cannot write {path}: No space left on device.")

    monkeypatch.setattr(module, "save", save)
    data = ang.simulate.gaussian(40, 4.0, rng=1).C
    with pytest.warns(AngsyncWarning, match="No space left") as said:
        result = ang.synchronize(data, checkpoint=Checkpoint(tmp_path / "check", every_seconds=0))
    assert sum("no checkpoint" in str(one.message) for one in said) == 1
    assert result.z.tobytes() == solved(data).z.tobytes()


def test_two_solves_with_one_checkpoint_the_later_writer_says_so(tmp_path, monkeypatch):
    data, path = ang.simulate.gaussian(60, 2.0, rng=1).C, tmp_path / "check"
    begun = []

    def another(progress):
        if not begun:
            begun.append(True)
            solved(data, checkpoint=Checkpoint(path, every_seconds=0, resume=True, keep=True))

    with pytest.warns(AngsyncWarning, match="written by another solve"):
        result = ang.synchronize(data, callback=another, checkpoint=Checkpoint(path, every_seconds=0.0))
    # the first write of this one came before the other began: the other took it over
    assert result.certificate.verdict is ang.Verdict.CERTIFIED
    assert path.exists()  # of the other one, which is not this one's to remove


def test_robust_relaxation_and_stacks_are_refused(tmp_path):
    path = tmp_path / "check"
    C = ang.simulate.gaussian(10, 1.0, rng=1).C
    for solver in (ang.Robust(), ang.LowRankSDP()):
        with pytest.raises(InputError, match=type(solver).__name__):
            ang.synchronize(C, solver=solver, checkpoint=path)
    with pytest.raises(InputError, match="stack"):
        ang.synchronize(np.stack([C, C]), checkpoint=path)
    with pytest.raises(InputError, match=r"must be ang\.Checkpoint"):
        ang.synchronize(C, checkpoint=3)
    with pytest.raises(InputError, match="every_seconds"):
        Checkpoint(path, every_seconds=-1)
    with pytest.raises(OutputError, match="does not exist"):
        ang.synchronize(C, checkpoint=tmp_path / "no" / "check")


def test_anchors_are_part_of_the_problem(tmp_path, monkeypatch):
    data = ang.simulate.grid(12, 12, sigma=0.3, rng=1).measurements
    plain = solved(data, anchors={0: 0.0, 143: 1.0})
    result, copies = with_every_write(data, tmp_path, monkeypatch, anchors={0: 0.0, 143: 1.0})
    assert result.z.tobytes() == plain.z.tobytes()
    with pytest.raises(InputError, match="rows"):
        ang.synchronize(data, anchors={0: 0.0, 143: 2.0}, checkpoint=Checkpoint(copies[-1], resume=True))
    again = solved(data, anchors={0: 0.0, 143: 1.0}, checkpoint=Checkpoint(copies[-1], resume=True))
    assert again.objective == pytest.approx(plain.objective, rel=1e-12)


def test_a_generator_of_the_user_is_known_by_its_state(tmp_path, monkeypatch):
    data = ang.simulate.gaussian(40, 4.0, rng=1).C

    def rng(seed):
        return np.random.Generator(np.random.MT19937(seed))

    result, copies = with_every_write(data, tmp_path, monkeypatch, rng=rng(1))
    again = solved(data, rng=rng(1), checkpoint=Checkpoint(copies[-1], resume=True, keep=True))
    assert again.objective == pytest.approx(result.objective, rel=1e-12)
    with pytest.raises(InputError, match="rng"):
        ang.synchronize(data, rng=rng(2), checkpoint=Checkpoint(copies[-1], resume=True))


@pytest.mark.parametrize(("n", "sigma"), [(40, 4.0), (60, 5.5)])
def test_a_resumed_call_searches_as_far_as_the_undisturbed_one(n, sigma, tmp_path, monkeypatch):
    """How many starts are tried follows from the products that were spent, also by the calls before."""
    data = ang.simulate.gaussian(n, sigma, rng=5).C
    few = {"normal": multistart.LIMITS["normal"]._replace(starts=100, found=100, cost=4)}  # the products decide
    monkeypatch.setattr(multistart, "LIMITS", few)
    result, copies = with_every_write(data, tmp_path, monkeypatch)
    assert len(result.starts.objectives) > 2
    for copy in dict.fromkeys(copies[:: max(1, len(copies) // 8)] + copies[-1:]):
        ended = ends_of_parts(copy)
        again = solved(data, checkpoint=Checkpoint(copy, resume=True))
        assert len(again.starts.objectives) >= len(result.starts.objectives) - (0 if ended else 1)
        if ended:  # nothing was cut in its middle: the same decisions
            assert again.matvecs == result.matvecs
            assert again.objective == pytest.approx(result.objective, rel=1e-12)


def ends_of_parts(path):
    with np.load(path) as arrays:
        return all("going" not in part for part in json.loads(str(arrays["metadata"]))["parts"].values())
