"""Outputs that are complete or not there, and a memory that does not grow with the images."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from angsync.applications import phase_linking
from angsync.applications.phase_linking import tiles
from angsync.applications.phase_linking.stores import check_images_path
from angsync.errors import AngsyncWarning, OutputError


def test_paths_are_checked_before_the_work(tmp_path):
    with pytest.raises(OutputError, match="zarr, nc, csv"):
        check_images_path(tmp_path / "phase.tif")
    pytest.importorskip("zarr")
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="not a zarr store that angsync wrote"):
        check_images_path(tmp_path / "mine.zarr")
    with pytest.raises(OutputError, match="does not exist"):
        check_images_path(tmp_path / "gone" / "phase.zarr")


def test_a_failure_is_named_and_an_interruption_leaves_what_is_done(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    slc = phase_linking.simulate(4, (12, 12)).slc
    real, calls = tiles.estimate, []

    def failing(error):
        def once(*given):
            calls.append(1)
            if len(calls) % 3 == 0:
                raise error
            return real(*given)

        return once

    monkeypatch.setattr(tiles, "estimate", failing(RuntimeError("disk on fire")))
    with pytest.warns(AngsyncWarning, match="chunks failed: 1 of 4 have no phases, 1_0 among them: RuntimeError: disk"):
        linked = phase_linking.link(slc, 5, output=tmp_path / "failed.zarr", chunk=6)
    assert linked.is_partial
    assert not linked.is_interrupted
    assert (linked.counts["FAILED"], linked.solved, linked.pixels) == (36, 108, 144)
    assert "36 FAILED" in str(linked)
    with pytest.raises(RuntimeError):
        phase_linking.link(slc, 5, chunk=6)
    calls.clear()
    monkeypatch.setattr(tiles, "estimate", failing(KeyboardInterrupt()))
    with pytest.warns(AngsyncWarning, match="interrupted: 72 of 144"):
        linked = phase_linking.link(slc, 5, output=tmp_path / "phase.zarr", chunk=6)
    kept = zarr.open_group(str(tmp_path / "phase.zarr"), mode="r")
    assert np.isfinite(kept["phase"][:, :6]).all()
    assert np.isnan(kept["phase"][:, 6:]).all()
    assert (kept["status"][6:] == 4).all()
    assert linked.is_interrupted


MEMORY = """
import json, resource, sys
import numpy as np
from angsync.applications import phase_linking
phase_linking.link(phase_linking.simulate(10, (40, 40)).slc, 5, output=sys.argv[3], chunk=64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
linked = phase_linking.link(sys.argv[1], 5, output=sys.argv[2], chunk=64)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([(after - before) / 1024, linked.counts["CERTIFIED"]]))
"""


@pytest.mark.slow
def test_a_stack_ten_times_larger_than_the_memory_it_takes(tmp_path):
    zarr = pytest.importorskip("zarr")
    n, side = 10, 1600
    how = {"shape": (n, side, side), "chunks": (n, 64, 64), "dtype": np.complex64}
    array = zarr.open_array(str(tmp_path / "slc.zarr"), mode="w", **how)
    part = phase_linking.simulate(n, (64, 64), gamma_inf=0.6).slc
    for row in range(0, side, 64):
        for column in range(0, side, 64):
            array[:, row : row + 64, column : column + 64] = part
    stores = [str(tmp_path / f"{name}.zarr") for name in ("slc", "phase", "small")]
    command = [sys.executable, "-c", MEMORY, *stores]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    grown, certified = json.loads(done.stdout)
    stack = n * side * side * 8 / 2**20  # 195 MB
    assert grown < stack / 10
    assert certified == side * side
