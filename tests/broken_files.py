"""Broken files by the thousand, and readers that must refuse them: no crash, no hang, no raw exception.

A file is named by a seed and a number, so that every failure can be made again. Run ``python tests/broken_files.py SEED
COUNT FOLDER`` for a table of outcomes by format. A child process reads the files, under a limit of memory; the parent
watches the clock, notes the file if the child dies or hangs, and starts another child behind it.
"""

from __future__ import annotations

import dataclasses
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
from pathlib import Path

import numpy as np
import scipy.sparse
from good_files import write_good_files

MEMORY_BYTES = 4 * 2**30
SECONDS_A_FILE = 10
CHECKED_EVERY = 4
STARTING_SECONDS = 120  # imports on a busy machine

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


def broken_file(good: list[Path], seed: int, number: int) -> tuple[Path, bytes, bool]:
    """The source, the content of the broken file, and whether checksums of its format cover what was broken."""
    rng = np.random.default_rng([seed, number])
    if number % CHECKED_EVERY == 0:  # a few bits of an archive, which its checksums cover
        archives = [path for path in good if path.suffix == ".npz"]
        path = archives[int(rng.integers(len(archives)))]
        return path, bytes(_flip(bytearray(path.read_bytes()), rng)), True
    path = good[int(rng.integers(len(good)))]
    data = path.read_bytes()
    packed = path.suffix == ".npz" or path.name == "packed.mat"
    if packed and rng.random() < 0.7:
        return path, _damaged_inside(data, path.suffix, rng), False
    return path, _damaged(data, rng), path.suffix == ".npz"


# --- the child ------------------------------------------------------------------------------------------------------


def readers_of(path: Path) -> list:
    """Every function that reads this format."""
    import angsync as ang
    from angsync.applications import beam_optics, pose_graph, ranking
    from angsync.io import read_phases

    special = {".tfs": [beam_optics.read], ".mtx": [ranking.rank], ".g2o": [ang.read, pose_graph.read]}
    phases = {
        ".npz": [ang.load_result, read_phases, ang.BatchResult.load],
        ".csv": [read_phases],
        ".npy": [read_phases],
    }
    return special.get(path.suffix, [ang.read, *phases.get(path.suffix, [])])


def read_every_way(path: Path, original: Path | None) -> str:
    """``refused``, ``read`` or ``same`` (as ``original``); other exceptions than the project's own come out."""
    from angsync.errors import AngsyncError

    outcome = "refused"
    for reader in readers_of(path):
        try:
            found = reader(path)
        except AngsyncError as error:
            text = str(error)
            if str(path) not in text or len(text) > 10_000:
                raise RuntimeError(f"a message without the file, or endless: {text[:300]}") from error
        else:
            outcome = "read"
            repr(found), str(found)
            if original is not None:
                if not same(found, reader(original)):
                    raise RuntimeError(f"{reader.__name__} read something else than was written")
                outcome = "same"
    return outcome


def same(a: object, b: object) -> bool:
    """Whether two objects hold the same arrays and numbers."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape) == (b.dtype, b.shape) and a.tobytes() == b.tobytes()
    if scipy.sparse.issparse(a):
        return same(a.toarray(), b.toarray())
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in dataclasses.fields(a))
    return a == b or a != a


def call_command(path: Path) -> None:
    """``angsync solve`` (or ``rank``, ``beam``) in this process: one message, or an answer."""
    from command_line import call

    command = {".mtx": "rank", ".tfs": "beam"}.get(path.suffix, "solve")
    answer = call(command, path)
    if answer.code not in (0, 1, 2) or (answer.code == 2 and "rror: " not in answer.stderr):
        raise RuntimeError(f"angsync {command} ended with {answer.code}: {answer.stderr[-200:]}")


def child(folder: Path, seed: int) -> None:
    """Numbers come in, one a line; outcomes go out, one a line."""
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")
    good = sorted((folder / "good").iterdir())
    for path in {path.suffix: path for path in good}.values():  # imports, before the clock runs
        read_every_way(path, None)
    stdout, sys.stdout = sys.stdout, sys.stderr
    print("ready", file=stdout, flush=True)
    for line in sys.stdin:
        source, content, checked = broken_file(good, seed, int(line))
        path = folder / f"{os.getpid()}{source.suffix}"
        path.write_bytes(content)
        try:
            outcome = read_every_way(path, source if checked else None)
            call_command(path)
        except Exception as error:
            outcome = f"{type(error).__module__}.{type(error).__name__}: {str(error)[:200]}"
        path.unlink()
        print(json.dumps(outcome), file=stdout, flush=True)


# --- the parent -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Outcomes:
    """How many files were read, read the same and refused, and every failure by the number of its file."""

    counts: Counter = dataclasses.field(default_factory=Counter)
    failures: dict[int, str] = dataclasses.field(default_factory=dict)
    died: dict[int, str] = dataclasses.field(default_factory=dict)
    """Files over which a library ended the process, or hung."""
    slowest: tuple[float, int] = (0.0, -1)


def run(folder: Path, seed: int, count: int) -> Outcomes:
    """Read ``count`` broken files in a child process."""
    (folder / "good").mkdir()
    good = write_good_files(folder / "good")
    outcomes, process = Outcomes(), None
    for number in range(count):
        if process is None:
            process = _start(folder, seed)
        begun = time.monotonic()
        process.stdin.write(b"%d\n" % number)
        process.stdin.flush()
        answer = _line(process, SECONDS_A_FILE)
        outcomes.slowest = max(outcomes.slowest, (time.monotonic() - begun, number))
        suffix = broken_file(good, seed, number)[0].name
        if answer in ("refused", "read", "same"):
            outcomes.counts[answer] += 1
        elif answer is not None:
            outcomes.failures[number] = f"{suffix}: {answer}"
        else:
            _end(process)
            outcomes.died[number] = f"{suffix}: ended with {process.returncode}"  # -9: it did not come to an end
            process = None
    if process is not None:
        _end(process)
    return outcomes


def _start(folder: Path, seed: int) -> subprocess.Popen:
    command = [sys.executable, __file__, "child", str(folder), str(seed)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    select.select([process.stdout], [], [], STARTING_SECONDS)
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError("a child did not start")
    return process


def _line(process: subprocess.Popen, seconds: float) -> str | None:
    ready, _, _ = select.select([process.stdout], [], [], seconds)
    line = process.stdout.readline() if ready else b""
    return json.loads(line) if line else None


def _end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


if __name__ == "__main__":
    if sys.argv[1] == "child":
        child(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        found = run(Path(sys.argv[3]), int(sys.argv[1]), int(sys.argv[2]))
        print(dict(found.counts), "slowest", found.slowest)
        for kind, failures in (("raw exceptions", found.failures), ("crashes and hangs", found.died)):
            print(len(failures), kind, *(f"{number} {text}" for number, text in failures.items()), sep="\n  ")
