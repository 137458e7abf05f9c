"""Compare two checkouts of angsync on fixed problems: the bits of their answers, or the answers and their CPU time.

    python tools/compare_checkouts.py bits BEFORE AFTER
    python tools/compare_checkouts.py guards BEFORE AFTER --out guards.md

Each checkout is run in processes of its own with PYTHONPATH at its ``src``, so both need their compiled extension
(if both lack it, NumPy is compared with NumPy). Real data sets are taken from ``--data``, ANGSYNC_DATA or
``../shared/data``, and left out if they are not there. The problems are those of ``guard_cases.py``.

``bits`` asks both for every problem once and exits with 1 if phases or any other number differ: a change that only
moves code must leave every bit as it was.

``guards`` compares answers that may differ in their bits: one Markdown table, a row per problem, written anew after
every row. BROKEN (exit code 1) means that the second checkout breaks a rule: f is
lower by more than 1e-9 of it, or the verdict is worse, at low noise; f is lower by more than 2e-4, or newly REFUTED, at
high noise; f of the first checkout is above f plus the gap bound of the second; more products with a LinearOperator; in
samples, a mean that is worse by more than two standard errors of the paired differences, or more answers that are wrong
and credible; more memory; a stated objective that is not that of the phases; an error where the first checkout answers
(where it does not, the row is NOT COMPARED). SLOW marks a CPU time above its limit, and exits with 0: medians of few
turns on a busy machine scatter, so compare them with ``guards-noise.md``: one checkout against itself. Threads
that wait for a core burn CPU time: if others have the cores, OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 scatter less.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parent
REST = 0.2  # seconds between turns, so that the threads of BLAS go to sleep
SLOW, SLOW_ROUNDS = 2000.0, 3  # cases of more milliseconds have fewer rounds
MOST_SECONDS, MOST_WAITING = 180, 900  # of one answer in guards: CPU time, and on the wall where others have the cores
SLOW_TURN = 8000.0  # milliseconds of a turn in guards after which there is no second
STRICT, LOOSE = 1e-9, 2e-4  # how much f may fall, of itself
TOLD = 1e-6  # of f: how far the stated objective may be from it, in single precision too
ROUNDING = 1e-14  # of f: what sums in double precision leave open
SAME = 1e-6  # degrees or shares: means that are nearer are the same
LEVEL = 0.95  # of the intervals
MORE_MEMORY = 1.12  # a checkout against itself differed by 9 %, with two threads
VERDICTS = ("REFUTED", "UNDECIDED", "CERTIFIED")
COLUMNS = ("problem", "before", "after", "difference", "verdict", "gap", "CPU time", "judgment")
PLACES: dict[str, dict[str, dict[str, str]]] = {
    "default": {"": {}},
    "products": {"": {"OPENBLAS_NUM_THREADS": "1"}},  # the caller's products: waiting threads of BLAS are not ours
    "sets": {name: {"ANGSYNC_INSTRUCTIONS": name} for name in ("avx512", "avx2", "plain")},
    "memory": {"": {}},
}


def environment(checkout: Path, extra: dict[str, str] | None = None) -> dict[str, str]:
    """That of a process which sees this checkout, and no settings of angsync from outside."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("ANGSYNC_")}
    return outside | {"PYTHONPATH": str(checkout / "src"), "PYTHONDONTWRITEBYTECODE": "1"} | (extra or {})


def cpu_seconds(pid: int) -> float:
    """CPU time of a process so far; 0 where the system does not tell, so that only the wait is bounded."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Guard:
    """A process of a checkout that answers the cases; started when needed, ended when it takes too long."""

    def __init__(self, given: argparse.Namespace, checkout: Path, extra: dict[str, str]) -> None:
        self.command = [given.python, str(TOOLS / "guard_cases.py"), "--data", str(given.data)]
        self.command += ["--quick"] if given.quick else []
        self.checkout, self.environment = checkout, environment(checkout, extra)
        self.process: subprocess.Popen[str] | None = None
        self.cases: list[Any] = []
        self.kernels = ""

    def start(self) -> None:
        """Begin a process and read which cases it knows."""
        self.process = subprocess.Popen(
            self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.checkout}: the process ended; its error is above.")
        hello = json.loads(line)
        # an installed angsync that is found first would compare a checkout with itself
        if not Path(hello["from"]).resolve().is_relative_to(self.checkout):
            sys.exit(f"{self.checkout}: the angsync that was loaded is {hello['from']}.")
        self.cases, self.kernels = hello["cases"], hello["kernels"]

    def ask(self, case: str) -> dict[str, Any]:
        if self.process is None:
            self.start()
        process = self.process
        process.stdin.write(f"{case}\n")
        process.stdin.flush()
        begin, used = time.monotonic(), cpu_seconds(process.pid)
        while not select.select([process.stdout], [], [], 1.0)[0]:
            if cpu_seconds(process.pid) - used > MOST_SECONDS or time.monotonic() - begin > MOST_WAITING:
                process.kill()
                self.close()
                return {"error": f"no answer in {MOST_SECONDS} s of CPU time, or {MOST_WAITING} s of any"}
        line = process.stdout.readline()
        if not line:
            self.close()
            return {"error": "the process died"}
        return json.loads(line)

    def close(self) -> None:
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
        self.process = None


def turns(a: Guard, b: Guard, case: str, rounds: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """What both answer, taking turns in the order A B B A; slow cases have fewer turns. ``ms`` lists every turn."""
    found: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    times: tuple[list[float], list[float]] = ([], [])
    k = 0
    while k < rounds:
        for side in (0, 1) if k % 2 == 0 else (1, 0):
            time.sleep(REST)
            answer = (a, b)[side].ask(case)
            found[side].update(answer)
            times[side].append(answer.get("ms", math.nan))
        k += 1
        slowest = max(times[0] + times[1])
        once = any(kind in answer for kind in ("error", "samples", "best", "bytes") for answer in found)
        if once or slowest > SLOW_TURN or (k == 2 and slowest > SLOW):  # no rule is about the time of samples
            break
    return found[0] | {"ms": times[0]}, found[1] | {"ms": times[1]}


Row = tuple[str, str, str, str, str, str, str, str]


def number(value: float) -> str:
    return f"{value:.10g}" if abs(value) >= 100 else f"{value:.4g}"


def tally(verdicts: list[str]) -> str:
    """One verdict, or how often each occurs."""
    counts = {name: verdicts.count(name) for name in sorted(set(verdicts))}
    return " ".join(counts) if len(verdicts) == 1 else ", ".join(f"{n} {name}" for name, n in counts.items())


def change(before: str, after: str) -> str:
    return before if before == after else f"{before} -> {after}"


def solved(case: dict[str, Any], a: dict[str, Any], b: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Cells (before, after, difference, verdict, gap) of problems that were solved, and the rules that are broken."""
    fa, fb = a["f"], b["f"]
    worst = min(
        ((y - x) / (abs(x) or 1.0) for x, y in zip(fa, fb, strict=True)), key=lambda d: -math.inf if d != d else d
    )
    broken = []
    if not worst >= -(STRICT if case["strict"] else LOOSE):
        broken.append(f"f is lower by {-worst:.1e}")
    pairs = list(zip(a["verdict"], b["verdict"], strict=True)) if len(a["verdict"]) == len(b["verdict"]) else []
    lost = sum(VERDICTS.index(y) < VERDICTS.index(x) and (case["strict"] or y == "REFUTED") for x, y in pairs)
    if lost or len(a["verdict"]) > len(b["verdict"]):
        broken.append("the verdict is worse" if len(pairs) < 2 else f"{lost} verdicts are worse")
    above = [x - y - gap - ROUNDING * abs(x) for x, y, gap in zip(fa, fb, b["gap"], strict=False)]
    if any(not excess <= 0 for excess in above):
        broken.append("f of the first is above f plus gap of the second")
    if any(not abs(told - y) <= TOLD * abs(y) for told, y in zip(b.get("told", ()), fb, strict=False)):
        broken.append("the objective is not that of the phases")
    if b.get("products", 0) > a.get("products", 0):
        broken.append("more products")
    counts = f", {change(str(a['products']), str(b['products']))} products" if "products" in a else ""
    gaps = [f"{max(side['gap']):.1e}" if side["gap"] else "-" for side in (a, b)]
    cells = [number(sum(fa)), number(sum(fb)), f"{worst:+.1e}{counts}"]
    return [*cells, change(tally(a["verdict"]), tally(b["verdict"])) or "-", change(*gaps)], broken


def paired(name: str, a: list[float], b: list[float]) -> tuple[list[str], list[str]]:
    """Cells of one quantity that both measured on the same seeds, and the rule that is broken."""
    both = [(x, y) for x, y in zip(a, b, strict=True) if x == x and y == y]
    if not both:
        return ["-", "-", "nothing measured", "-", "-"], []
    before, after = (statistics.fmean(side) for side in zip(*both, strict=True))
    apart = [y - x for x, y in both]
    mean, error = statistics.fmean(apart), statistics.stdev(apart) / len(apart) ** 0.5 if len(apart) > 1 else 0.0
    worse = -mean if name in ("recall", "coverage") else mean
    if name == "wrong and credible":
        broken = [f"{sum(apart):+.0f} wrong and credible"] if sum(apart) > 0 else []
    elif name == "coverage" and after >= LEVEL:
        broken = []  # intervals that hold more often than they say are no fault
    else:
        broken = [f"worse by {worse / error:.1f} standard errors"] if error and worse > max(2 * error, SAME) else []
        broken = broken or (["worse on every seed"] if not error and worse > SAME else [])
    refused = sum(y != y for y in b) - sum(x != x for x in a)
    words = f"{len(both)} pairs" + (f", {refused:+d} without a figure" if refused else "")
    cells = [f"{before:.4g}", f"{after:.4g}", f"{mean:+.2g} +- {error:.1g} ({words})"]
    return [*cells, "-", "-"], broken


def violated(a: dict[str, Any], b: dict[str, Any]) -> tuple[list[str], list[str]]:
    """How many gaps are smaller than what the best point known to either checkout gains."""
    best = [max(known) for known in zip(a["best"], b["best"], a["f"], b["f"], strict=True)]
    counts = [
        sum(not top - f <= gap + ROUNDING * abs(top) for top, f, gap in zip(best, side["f"], side["gap"], strict=True))
        for side in (a, b)
    ]
    cells = [
        str(counts[0]),
        str(counts[1]),
        f"of {len(best)}",
        "-",
        change(*(f"{max(side['gap']):.1e}" for side in (a, b))),
    ]
    return cells, [f"{counts[1]} violated gaps"] if counts[1] else []


def judged(case: dict[str, Any], a: dict[str, Any], b: dict[str, Any]) -> list[Row]:
    """The rows of one case: what both checkouts answered, and ``ok`` or which rule the second one breaks."""
    found: dict[str, tuple[list[str], list[str]]] = {}
    if "error" in a or "error" in b:
        words = [side.get("error", "an answer") for side in (a, b)]
        said = "NOT COMPARED" if "error" in a else "BROKEN: an error"
        return [(case["name"], *words, "-", "-", "-", "-", said)]
    if "samples" in a:
        found = {f": {name}": paired(name, a["samples"][name], b["samples"][name]) for name in a["samples"]}
    elif "best" in a:
        found[""] = violated(a, b)
    elif "bytes" in a:
        ratio = b["bytes"] / a["bytes"]
        broken = [f"{ratio:.2f} times the memory"] if ratio > MORE_MEMORY else []
        found[""] = [number(a["bytes"]), number(b["bytes"]), f"{ratio - 1:+.1%}", "-", "-"], broken
    elif "f" in a:
        found[""] = solved(case, a, b)
    else:
        found[""] = ["-"] * 5, []
    before, after = statistics.median(a["ms"]), statistics.median(b["ms"])
    limit = case["ms"] / before if case["ms"] else case["ratio"] or math.inf
    single = [y / x for x, y in zip(a["ms"], b["ms"], strict=True)]
    apart = f" ({min(single):.2f} to {max(single):.2f})" if len(single) > 1 else ""
    clock = f"{before:.4g}, {after:.4g}: {after / before:.3f}{apart}"
    slow = f"SLOW: {after / before:.2f} times" if after / before > limit else ""
    slow += f", at most {case['ms']} ms" if slow and case["ms"] else f", at most {limit}" if slow else ""
    rows = []
    for name, (cells, broken) in found.items():
        said = "; ".join([f"BROKEN: {', '.join(broken)}"] * bool(broken) + [slow] * bool(slow)) or "ok"
        rows.append((case["name"] + name, *cells, "as above" if rows else clock, "ok" if rows and not broken else said))
    return rows


def commit(given: argparse.Namespace, checkout: Path) -> str:
    """Return the commit of a checkout, and what it says about its kernels."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty"]
    said = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    guard = Guard(given, checkout, {})
    guard.start()
    guard.close()
    return f"{said or '?'} ({guard.kernels})"


def guarded(given: argparse.Namespace) -> Iterator[tuple[dict[str, Any], Guard, Guard]]:
    """Yield every case, its name as it is shown, with a process of each checkout."""
    for place, settings in PLACES.items():
        for label, extra in settings.items():
            a, b = Guard(given, given.A, extra), Guard(given, given.B, extra)
            a.start()
            for case in a.cases:
                shown = f"{label}: {case['name']}" if label else case["name"]
                if case["place"] == place and given.only in shown:
                    yield case | {"shown": shown}, a, b
                    if place == "memory":
                        a.close()
                        b.close()
            a.close()
            b.close()


def rows(given: argparse.Namespace) -> Iterator[list[Row]]:
    """Yield the rows of every case, as they come."""
    for case, a, b in guarded(given):
        answers = turns(a, b, case["name"], 2 if given.quick else 4)
        yield judged(case | {"name": case["shown"]}, *answers)


def bits(given: argparse.Namespace) -> int:
    """Print one line per case: whether all numbers but the times are the same."""
    total = wrong = 0
    for case, a, b in guarded(given):
        if case["place"] == "memory":
            continue
        before, after = a.ask(case["name"]), b.ask(case["name"])
        differing = [key for key in {**before, **after} if key != "ms" and before.get(key) != after.get(key)]
        total, wrong = total + 1, wrong + bool(differing)
        print(f"{case['shown']:<60} {'DIFFERENT: ' + ', '.join(differing) if differing else 'equal'}", flush=True)
    print(f"{total} cases, {wrong} of them different")
    return int(wrong > 0 or not total)


def guards(given: argparse.Namespace) -> int:
    """Write one table: value, verdict, gap and CPU time of every guarded problem, and which rule is broken."""
    begin = time.monotonic()
    sides = [commit(given, side) for side in (given.A, given.B)]
    head = [f"Before: {sides[0]}. After: {sides[1]}. CPU time in ms: before, after: ratio (of single rounds).", ""]
    head += ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    absent = "" if (given.data / "pose-graphs").is_dir() else " Pose graphs were left out: --data has none."
    lines: list[str] = []
    print("\n".join(head), flush=True)
    said: list[str] = []
    for found in rows(given):
        for row in found:
            said.append(row[-1])
            lines.append("| " + " | ".join(cell.replace("|", "/") for cell in row) + " |")
            print(lines[-1], flush=True)
        broken, slow, skipped = (sum(word in one for one in said) for word in ("BROKEN", "SLOW", "NOT COMPARED"))
        minutes = (time.monotonic() - begin) / 60
        end = f"{len(said)} rows, {broken} broken, {slow} slow, {skipped} not compared; {minutes:.0f} minutes.{absent}"
        if given.out:
            given.out.write_text("\n".join([*head, *lines, "", end, ""]))
    print(f"\n{end}" if said else "no case has this in its name")
    return int(not said or broken > 0)


def main() -> int:
    """Read the command line and compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = os.environ.get("ANGSYNC_DATA")
    parser.add_argument("what", choices=("bits", "guards"))
    parser.add_argument("A", type=lambda text: Path(text).resolve(), help="a checkout")
    parser.add_argument("B", type=lambda text: Path(text).resolve(), help="another, or the same")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that runs both")
    parser.add_argument("--data", type=Path, default=Path(known) if known else TOOLS.parents[1] / "shared" / "data")
    parser.add_argument("--quick", action="store_true", help="fewer problems: ten minutes instead of an hour")
    parser.add_argument("--only", default="", help="only cases with this in their name")
    parser.add_argument("--out", type=Path, help="a Markdown file for the table of guards")
    given = parser.parse_args()
    return bits(given) if given.what == "bits" else guards(given)


if __name__ == "__main__":
    sys.exit(main())
