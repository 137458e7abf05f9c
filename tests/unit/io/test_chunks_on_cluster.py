"""Chunks on a cluster of processes: the bits of one process, whatever is killed.

One test starts a cluster in the default run; all that kill something are marked slow.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import cluster_work
import numpy as np
import pytest
from cluster_work import SHAPE, TOTAL, content, marked, work

from angsync.errors import InputError
from angsync.io.chunks import carry_out, verify

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pytest.importorskip("zarr")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """With the problems, and the output of one process."""
    folder = tmp_path_factory.mktemp("stack")
    carry_out(work(folder, SHAPE), folder / "alone.zarr")
    return folder


@pytest.fixture(autouse=True, scope="module")
def patient_cluster():
    """A LocalCluster gives a worker up that is not back after 15 s, which happens on a busy machine."""
    with dask.config.set({"distributed.deploy.lost-worker-timeout": "300s"}):
        yield


def cluster(**settings):
    given = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": "1GB", **settings}
    return distributed.LocalCluster(dashboard_address=None, host="127.0.0.1", **given)


@pytest.fixture(scope="module")
def running():
    with cluster() as two:
        yield two


@pytest.fixture
def client(running):
    with distributed.Client(running, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


def same(out, folder):
    found, expected = content(out), content(folder / "alone.zarr")
    assert all(np.array_equal(found[name], expected[name], equal_nan=True) for name in expected)
    assert verify(out).is_complete
    return True


def test_two_workers_write_the_bits_of_one_process(client, folder, tmp_path):
    told = []
    done = carry_out(
        work(folder, (10, 12)),
        tmp_path / "out.zarr",
        client=client,
        progress=lambda k, total: told.append((k, total)),
    )
    assert (done.computed, done.failed, done.missing) == (4, {}, [])
    assert told == [(k, 4) for k in range(1, 5)]
    assert same(tmp_path / "out.zarr", folder)
    assert not any(client.has_what().values())  # what is done is in files


@pytest.mark.slow
def test_an_address_will_do_and_a_wrong_one_is_said(running, folder, tmp_path):
    carry_out(work(folder), tmp_path / "out.zarr", client=running.scheduler_address)
    assert same(tmp_path / "out.zarr", folder)
    with pytest.raises(InputError, match=r"no scheduler of Dask answers at tcp://127\.0\.0\.1:9"):
        carry_out(work(folder), tmp_path / "other.zarr", client="tcp://127.0.0.1:9")


class Kills:
    """A progress that kills workers at some counts of chunks, and notes the longest wait between two of them."""

    def __init__(self, client, at):
        self.client, self.at = client, list(at)
        self.pids = list(client.run(os.getpid).values())
        self.last, self.longest = time.monotonic(), 0.0

    def __call__(self, done, total):
        now = time.monotonic()
        self.longest, self.last = max(self.longest, now - self.last), now
        if self.at and done >= self.at[0]:
            self.at.pop(0)
            os.kill(self.pids.pop(), signal.SIGKILL)


@pytest.mark.slow
def test_every_worker_killed_once(client, folder, tmp_path, capsys):
    kills = Kills(client, [8, 18])
    done = carry_out(work(folder, seconds=0.2), tmp_path / "out.zarr", client=client, progress=kills)
    assert not kills.at
    assert (done.failed, done.missing) == ({}, [])
    assert same(tmp_path / "out.zarr", folder)
    with capsys.disabled():
        print(f"\nevery worker killed once: longest wait for a chunk {kills.longest:.1f} s")


@pytest.mark.slow
def test_client_and_workers_killed_twice_and_resumed(folder, tmp_path, capsys):
    os.symlink(folder / "problems.zarr", tmp_path / "problems.zarr")
    out, command = tmp_path / "out.zarr", [sys.executable, cluster_work.__file__, str(tmp_path)]
    for share in (0.3, 0.6):
        begun = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while marked(out) < share * TOTAL:
            assert begun.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        os.killpg(begun.pid, signal.SIGKILL)
        begun.wait(30)
    before = marked(out)
    assert before < TOTAL
    last = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    assert last.stdout.split() == f"found {before} computed {TOTAL - before} missing 0".split()
    assert same(out, folder)
    with capsys.disabled():
        print(f"\nkilled at 30 % and 60 %: {before} chunks found, {TOTAL - before} computed")


@pytest.mark.slow
def test_a_worker_with_too_little_memory_ends_in_named_chunks_and_no_wrong_answer(folder, tmp_path):
    with cluster(n_workers=1, memory_limit="400MB") as small, distributed.Client(small) as client:
        one = work(folder, SHAPE, seconds=1.0, megabytes=600)  # one chunk
        done = carry_out(one, tmp_path / "out.zarr", client=client)
        assert len(done.failed) == 1
        assert "memory is too small" in next(iter(done.failed.values()))
    assert marked(tmp_path / "out.zarr") == 0
    with cluster(n_workers=1, memory_limit="2GB") as larger, distributed.Client(larger) as client:
        done = carry_out(one, tmp_path / "out.zarr", client=client, resume=True)
    assert (done.computed, done.failed) == (1, {})
    assert same(tmp_path / "out.zarr", folder)


@pytest.mark.slow
def test_a_worker_of_another_version_is_refused(client, folder, tmp_path):
    def pretend(is_other):
        from angsync.problem import workers

        if is_other:
            workers.kept, workers.version = workers.version, lambda: "0.0.1"
        else:
            workers.version = workers.kept

    one = [min(client.nthreads())]
    client.run(pretend, True, workers=one)
    try:
        with pytest.raises(InputError, match=r"1 of 2 workers have another version of angsync .*\(0\.0\.1\)"):
            carry_out(work(folder), tmp_path / "out.zarr", client=client)
        assert marked(tmp_path / "out.zarr") == 0
    finally:
        client.run(pretend, False, workers=one)


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped"])
def test_a_damaged_chunk_of_the_input_is_named_and_the_rest_done(client, tmp_path, damage):
    expected = tmp_path / "whole"
    expected.mkdir()
    carry_out(work(expected), expected / "alone.zarr")
    path = Path(cluster_work.source(tmp_path))
    file = sorted(file for file in path.rglob("*") if file.is_file() and not file.name.startswith((".", "zarr")))[7]
    content_before = file.read_bytes()
    if damage == "missing":
        file.unlink()
    elif damage == "truncated":
        file.write_bytes(content_before[: len(content_before) // 2])
    else:
        middle = len(content_before) // 2
        file.write_bytes(content_before[:middle] + bytes([content_before[middle] ^ 1]) + content_before[middle + 1 :])
    out = tmp_path / "out.zarr"
    done = carry_out(work(tmp_path), out, client=client)
    assert len(done.failed) == 1
    assert done.computed == TOTAL - 1
    checked = verify(out)
    assert (checked.right, list(checked.failed)) == (TOTAL - 1, list(done.failed))
    found, right = content(out)["verdict"], content(expected / "alone.zarr")["verdict"]
    bad = found != right
    assert bad.sum() == 16  # one chunk
    assert (found[bad] == -1).all()  # never a verdict


@pytest.mark.slow
def test_ctrl_c_begins_no_chunk_and_keeps_what_is_done(client, folder, tmp_path):
    threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    out = tmp_path / "out.zarr"
    done = carry_out(work(folder, seconds=0.3), out, client=client)
    assert done.interrupted
    time.sleep(1.0)  # what a worker had begun is finished and kept
    kept = marked(out)
    assert len(done.reports) <= kept < TOTAL
    time.sleep(1.0)
    assert marked(out) == kept
    done = carry_out(work(folder), out, client=client, resume=True)
    assert (done.found, done.computed) == (kept, TOTAL - kept)
    assert same(out, folder)
