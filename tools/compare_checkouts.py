"""Whether two checkouts of angsync give the same bits, and how their speeds compare: the guard of a refactoring.

    python tools/compare_checkouts.py bits BEFORE AFTER
    python tools/compare_checkouts.py speed BEFORE AFTER --rounds 7

Each checkout is run in processes of its own with PYTHONPATH at its ``src``, so both need their compiled extension
(where both lack it, NumPy is compared with NumPy; where one lacks it, this is said and nothing is compared). Real data
sets are taken from ``--data``, ANGSYNC_DATA or ``../shared/data``, and left out where they are not there.
``bits`` exits with 1 where anything differs. ``speed`` lets one process compute at a time, in the order A B B A, and is
only as quiet as the machine: judge a ratio by that of a checkout against itself.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parent
PASSES: dict[str, tuple[list[str], dict[str, str]]] = {
    "default": ([], {}),
    "threads=1": (["--threads", "1"], {}),
    "numpy": ([], {"ANGSYNC_KERNELS": "numpy"}),
}
REST = 0.2  # seconds between turns, so that the threads of BLAS go to sleep
SLOW, SLOW_ROUNDS = 2000.0, 3  # cases of more milliseconds have fewer rounds
FIRST_SOLVE = """
import json, sys, time
begin = time.perf_counter()
import angsync
imported = time.perf_counter()
C = [[1.0 + abs(j - l) % 3 for l in range(60)] for j in range(60)]
angsync.synchronize(C)
solved = time.perf_counter()
count = sum(name.split(".")[0] == "angsync" for name in sys.modules)
print(json.dumps({"import angsync": 1000 * (imported - begin), "import and first solve": 1000 * (solved - begin),
                  "modules of angsync loaded by it": count}))
"""


def environment(checkout: Path, extra: dict[str, str] | None = None) -> dict[str, str]:
    """That of a process which sees this checkout, and no settings of angsync from outside."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("ANGSYNC_")}
    return outside | {"PYTHONPATH": str(checkout / "src"), "PYTHONDONTWRITEBYTECODE": "1"} | (extra or {})


def check_origin(said: str, checkout: Path) -> None:
    """An installed angsync that is found first would compare a checkout with itself."""
    if not Path(said).resolve().is_relative_to(checkout):
        sys.exit(f"{checkout}: the angsync that was loaded is {said}.")


def kernels(given: argparse.Namespace, checkout: Path) -> str:
    """What the checkout says about its kernels, such as ``compiled, OpenMP, 2 thread(s)``."""
    command = [given.python, "-m", "angsync.cli", "info", "--json"]
    done = subprocess.run(command, env=environment(checkout), stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)["kernels"]


def check_kernels(given: argparse.Namespace) -> None:
    """Without its extension a checkout is slower and rounds differently: that is not what is asked here."""
    before, after = (kernels(given, checkout) for checkout in (given.A, given.B))
    print(f"kernels: {before}")
    if before != after:
        sys.exit(f"those of B are {after}: build both extensions first.")


def walks(given: argparse.Namespace, checkout: Path, which: str) -> dict[str, dict[str, str]]:
    """What every walk of one pass found in one checkout."""
    options, extra = PASSES[which]
    command = [given.python, str(TOOLS / "walks.py"), "--data", str(given.data), *options]
    done = subprocess.run(command, env=environment(checkout, extra), stdout=subprocess.PIPE, text=True)
    origin, *lines = (json.loads(line) for line in done.stdout.splitlines() or ['{"from": "nowhere"}'])
    check_origin(origin["from"], checkout)
    found = {line["walk"]: line["found"] for line in lines}
    if done.returncode:
        sys.exit(f"{checkout}: the walks of pass {which} ended after {list(found)[-1:]}; the error is above.")
    return found


def digest(found: dict[str, str] | None) -> str:
    return "-" if found is None else hashlib.sha256(json.dumps(found).encode()).hexdigest()[:12]


def differences(a: dict[str, str], b: dict[str, str]) -> Iterator[str]:
    for name in dict.fromkeys([*a, *b]):
        if a.get(name) != b.get(name):
            yield f"      {name or 'value'}: {a.get(name, 'absent')[:100]} | {b.get(name, 'absent')[:100]}"


def bits(given: argparse.Namespace) -> int:
    """Print one line a walk, and under a walk that differs, where."""
    total = wrong = 0
    for which in PASSES:
        a, b = (walks(given, checkout, which) for checkout in (given.A, given.B))
        for name in dict.fromkeys([*a, *b]):
            left, right = a.get(name), b.get(name)
            total, wrong = total + 1, wrong + (left != right)
            verdict = "equal" if left == right else "DIFFERENT"
            print(f"{which:<10} {name:<42} {digest(left):<13} {digest(right):<13} {verdict}", flush=True)
            if left is not None and right is not None:
                print("".join(f"{line}\n" for line in differences(left, right)), end="")
    print(f"{total} walks, {wrong} of them different")
    return int(wrong > 0)


class Runner:
    """One process of a checkout that waits for the names of cases."""

    def __init__(self, given: argparse.Namespace, checkout: Path) -> None:
        command = [given.python, str(TOOLS / "timed_cases.py"), "--data", str(given.data)]
        self.process = subprocess.Popen(
            command, env=environment(checkout), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        hello = self.answer()
        check_origin(hello["from"], checkout)
        self.cases: list[str] = hello["cases"]

    def answer(self) -> dict[str, Any]:
        line = self.process.stdout.readline()
        if not line:
            sys.exit("a timed process ended; its error is above.")
        return json.loads(line)

    def time(self, case: str) -> dict[str, float]:
        self.process.stdin.write(f"{case}\n")
        self.process.stdin.flush()
        return {case: self.answer()["ms"]}

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


class Fresh:
    """A new process every turn: what an import and the first solve cost."""

    def __init__(self, given: argparse.Namespace, checkout: Path) -> None:
        self.command, self.environment = [given.python, "-c", FIRST_SOLVE], environment(checkout)
        del self.environment["PYTHONDONTWRITEBYTECODE"]  # an import without compiled files is another thing

    def time(self, case: str) -> dict[str, float]:
        done = subprocess.run(self.command, env=self.environment, stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(done.stdout)


def race(a: Runner | Fresh, b: Runner | Fresh, case: str, rounds: int) -> dict[str, tuple[list[float], list[float]]]:
    """Times of both, taking turns in the order A B B A; the first turn of each is not counted."""
    times: dict[str, tuple[list[float], list[float]]] = {}
    slowest = max(value for side in (a, b) for value in side.time(case).values())
    for k in range(min(rounds, SLOW_ROUNDS) if slowest > SLOW else rounds):
        for side in (0, 1) if k % 2 == 0 else (1, 0):
            time.sleep(REST)
            for name, value in (a, b)[side].time(case).items():
                times.setdefault(name, ([], []))[side].append(value)
    return times


def show(times: dict[str, tuple[list[float], list[float]]]) -> None:
    for name, (a, b) in times.items():
        before, after = statistics.median(a), statistics.median(b)
        pairs = [y / x for x, y in zip(a, b, strict=True)]
        ratio, apart = after / before, f"{min(pairs):.2f} to {max(pairs):.2f}"
        print(f"{name:<34} {before:>10.3f} {after:>10.3f} {ratio:>7.3f}   {apart:>12}  {len(a)}", flush=True)


def speed(given: argparse.Namespace) -> int:
    """Print one line a case: medians in milliseconds, B/A, and the ratios of the single rounds."""
    print(f"{'':<34} {'A (ms)':>10} {'B (ms)':>10} {'B/A':>7}   {'rounds':>12}  #")
    show(race(Fresh(given, given.A), Fresh(given, given.B), "", given.rounds))
    a, b = Runner(given, given.A), Runner(given, given.B)
    for case in a.cases:
        if given.only in case:
            show(race(a, b, case, given.rounds))
    a.close()
    b.close()
    return 0


def main() -> int:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    known = os.environ.get("ANGSYNC_DATA")
    for compare in (bits, speed):
        command = commands.add_parser(compare.__name__, help=compare.__doc__)
        command.set_defaults(compare=compare)
        command.add_argument("A", type=lambda text: Path(text).resolve(), help="a checkout")
        command.add_argument("B", type=lambda text: Path(text).resolve(), help="another, or the same")
        command.add_argument("--python", default=sys.executable, help="the interpreter that runs both")
        command.add_argument(
            "--data", type=Path, default=Path(known) if known else TOOLS.parents[1] / "shared" / "data"
        )
        if compare is speed:
            command.add_argument("--rounds", type=int, default=7)
            command.add_argument("--only", default="", help="only cases with this in their name")
    given = parser.parse_args()
    check_kernels(given)
    return given.compare(given)


if __name__ == "__main__":
    sys.exit(main())
