"""Broken files by the thousand, and readers that must refuse them: no crash, no hang, no raw exception.

A file is named by a seed and a number, so that every failure can be made again (``python tests/broken_files.py SEED
NUMBER FOLDER`` writes it). Children read them, some hundreds each, under a limit of memory; the parent watches the
clock, notes the file in flight when a child dies or hangs, and starts another child behind it.
"""

from __future__ import annotations

import io
import json
import os
import re
import select
import subprocess
import sys
import time
import warnings
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from good_files import is_hdf5, write_good_files

MEMORY_BYTES = 4 * 2**30
SECONDS_A_FILE = 10
STARTING_SECONDS = 120  # imports on a busy machine
HDF5_EVERY = 13  # one file in so many: each costs a process of its own

# --- broken files ---------------------------------------------------------------------------------------------------

_NUMBER = re.compile(rb"-?\d+(\.\d+)?(e-?\d+)?")
_WORDS = (
    b"", b"-1", b"0", b"1e300", b"1e999", b"nan", b"-inf", b"2.7", b"1000000000000", b"9" * 40, b"null", b"true", b'""',
    b"[]", b"{}", b'"a"', b"[[[[[[[[1]]]]]]]]", b"\xff", b"\x00", b"1.0", b"01", b'"', b",", b"\n", b"#", b"1_0",
    b"[" * 5000,
)  # fmt: skip


def _flip(data: bytearray, rng) -> bytearray:
    for _ in range(int(rng.integers(1, 9))):
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
    return data


def _cut(data: bytearray, rng) -> bytearray:
    return data[: int(rng.integers(len(data)))] if rng.random() < 0.7 else data[int(rng.integers(len(data))) :]


def _splice(data: bytearray, rng) -> bytearray:
    a, b, c = sorted(int(x) for x in rng.integers(0, len(data) + 1, 3))
    return data[:a] + data[b:c] + data[a:b] + data[c:]


def _repeat(data: bytearray, rng) -> bytearray:
    a, b = sorted(int(x) for x in rng.integers(0, len(data) + 1, 2))
    return data[:b] + data[a:b] * int(rng.choice([1, 2, 50])) + data[b:]


def _fill(data: bytearray, rng) -> bytearray:
    start, length = int(rng.integers(len(data))), int(rng.choice([1, 4, 8, 64, 500]))
    length = min(length, len(data) - start)
    data[start : start + length] = bytes([int(rng.choice([0, 255, 32, 128]))]) * length
    return data


def _resize(data: bytearray, rng) -> bytearray:
    """A field of 1 to 8 bytes, aligned as sizes are, gets another number."""
    width = int(rng.choice([1, 2, 4, 8]))
    if len(data) < 2 * width:
        return data
    place = int(rng.integers(len(data) // width)) * width
    old = int.from_bytes(data[place : place + width], "little")
    top = 256**width - 1
    others = (old + 1, old - 1, 2 * old, old // 2, -old, 10**6, 2**31 - 1, 2**31, 10**12, 2**62)
    new = others[int(rng.integers(len(others)))] & top
    data[place : place + width] = new.to_bytes(width, "little")
    return data


def _word(data: bytearray, rng) -> bytearray:
    """Another number, or no number, where there is one in the text."""
    found = [match.span() for match in _NUMBER.finditer(bytes(data))]
    if not found:
        return _flip(data, rng)
    start, end = found[int(rng.integers(len(found)))]
    return data[:start] + _WORDS[int(rng.integers(len(_WORDS)))] + data[end:]


_WAYS = (_flip, _flip, _cut, _splice, _repeat, _fill, _resize, _resize, _word)


def _damaged(data: bytes, rng) -> bytes:
    broken = bytearray(data)
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        if not broken:
            break
        broken = _WAYS[int(rng.integers(len(_WAYS)))](broken, rng)
    return bytes(broken)


def _damaged_inside(data: bytes, suffix: str, rng) -> bytes:
    """The content broken, its compression and check sums right: what only the reader itself can see."""
    if suffix == ".npz":
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        victims = set(rng.choice(list(members), int(rng.integers(1, 3))).tolist())
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, _damaged(content, rng) if name in victims else content)
        return stream.getvalue()
    parts, position = [data[:128]], 128
    while position < len(data):
        size = int.from_bytes(data[position + 4 : position + 8], "little")
        content = zlib.compress(_damaged(zlib.decompress(data[position + 8 : position + 8 + size]), rng))
        parts += [data[position : position + 4], len(content).to_bytes(4, "little"), content]
        position += 8 + size
    return b"".join(parts)


def broken_file(good: list[Path], seed: int, number: int) -> tuple[str, bytes]:
    """Suffix and content of the broken file with this number."""
    rng = np.random.default_rng([seed, number])
    first_hdf5 = next(k for k, path in enumerate(good) if is_hdf5(path))
    if number % HDF5_EVERY == 0:
        path = good[first_hdf5 + int(rng.integers(len(good) - first_hdf5))]
    else:
        path = good[int(rng.integers(first_hdf5))]
    data = path.read_bytes()
    packed = path.suffix == ".npz" or path.name == "packed.mat"
    broken = _damaged_inside(data, path.suffix, rng) if packed and rng.random() < 0.7 else _damaged(data, rng)
    return path.suffix, broken


# --- the child ------------------------------------------------------------------------------------------------------


def read_every_way(path: Path) -> str:
    """``refused`` or ``read``; every other exception than the project's own comes out."""
    import angsync as ang
    from angsync.applications import pose_graph
    from angsync.errors import AngsyncError
    from angsync.io import read_phases

    readers = [ang.read]
    if path.suffix in (".npz", ".csv"):
        readers += [ang.load_result, read_phases]
    if path.suffix == ".npz":
        readers.append(ang.BatchResult.load)
    if path.suffix == ".npy":
        readers.append(read_phases)
    if path.suffix == ".g2o":
        readers.append(pose_graph.read)
    outcome = "refused"
    for reader in readers:
        try:
            found = reader(path)
        except AngsyncError as error:
            text = str(error)
            if str(path) not in text or len(text) > 10_000:
                raise RuntimeError(f"a message without the file, or endless: {text[:300]}") from error
        else:
            outcome = "read"
            repr(found), str(found)
    return outcome


def child(folder: Path, seed: int) -> None:
    """Numbers come in, one a line; outcomes go out, one a line."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    warnings.simplefilter("ignore")
    good = sorted((folder / "good").iterdir(), key=lambda path: (is_hdf5(path), path.name))
    import angsync.applications.pose_graph  # noqa: F401  loaded before the clock runs

    print("ready", flush=True)
    for line in sys.stdin:
        suffix, content = broken_file(good, seed, int(line))
        path = folder / f"{os.getpid()}{suffix}"
        path.write_bytes(content)
        try:
            outcome = read_every_way(path)
        except Exception as error:
            outcome = f"{type(error).__module__}.{type(error).__name__}: {str(error)[:200]}"
        path.unlink()
        print(json.dumps(outcome), flush=True)


# --- the parent -----------------------------------------------------------------------------------------------------


@dataclass
class Outcomes:
    """How many files were read and refused, and every failure by the number of its file."""

    counts: Counter = field(default_factory=Counter)
    failures: dict[int, str] = field(default_factory=dict)
    slowest: tuple[float, int] = (0.0, -1)


class _Child:
    def __init__(self, folder: Path, seed: int) -> None:
        command = [sys.executable, __file__, "child", str(folder), str(seed)]
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.current: int | None = None
        self.since = time.monotonic()
        self.limit = float(STARTING_SECONDS)

    def give(self, number: int) -> None:
        self.current, self.since, self.limit = number, time.monotonic(), SECONDS_A_FILE
        self.process.stdin.write(b"%d\n" % number)
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def run(folder: Path, seed: int, count: int, workers: int) -> Outcomes:
    """Read ``count`` broken files in children."""
    good = folder / "good"
    good.mkdir()
    write_good_files(good)
    outcomes = Outcomes()
    numbers = iter(range(count))
    children = [_Child(folder, seed) for _ in range(workers)]
    try:
        while children:
            ready, _, _ = select.select([child.process.stdout for child in children], [], [], 0.5)
            for k, one in reversed(list(enumerate(children))):
                line = one.process.stdout.readline() if one.process.stdout in ready else None
                taken = time.monotonic() - one.since
                if line:
                    _note(outcomes, one.current, line, taken)
                    number = next(numbers, None)
                    if number is None:
                        children.pop(k).end()
                    else:
                        one.give(number)
                elif line == b"" or taken > one.limit:
                    if one.current is None:
                        raise RuntimeError("a child did not start")
                    one.end()
                    died = f"died with {one.process.returncode}" if line == b"" else f"hangs for {taken:.0f} s"
                    outcomes.failures[one.current] = died
                    children[k] = _Child(folder, seed)
    finally:
        for one in children:
            one.end()
    return outcomes


def _note(outcomes: Outcomes, number: int | None, line: bytes, taken: float) -> None:
    if number is None:
        return  # it says that it is ready
    outcome = json.loads(line)
    if outcome in ("read", "refused"):
        outcomes.counts[outcome] += 1
    else:
        outcomes.failures[number] = outcome
    outcomes.slowest = max(outcomes.slowest, (taken, number))


if __name__ == "__main__":
    if sys.argv[1] == "child":
        child(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        target = Path(sys.argv[3])
        (target / "good").mkdir()
        suffix, content = broken_file(write_good_files(target / "good"), int(sys.argv[1]), int(sys.argv[2]))
        (target / f"broken{suffix}").write_bytes(content)
