"""The goals that this project has set itself, beside the figures of `angsync bench`: met or missed, one line each.

    python benchmarks/goals.py [FIGURES.json ...]

FIGURES.json is what `angsync bench --output` wrote; the files of `benchmarks/results` unless given. A goal whose figure
was not measured is left out.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal

from angsync.report.numbers import brief_duration, percent, three_digits
from angsync.study.bench.engine import FORMAT

Figure = Literal["seconds", "ratio", "proof", "products", "limit"]


@dataclass(frozen=True)
class Goal:
    """A bound on one figure of the rows of one method; ``problem`` may hold wild cards (*)."""

    group: str
    problem: str
    method: str
    figure: Figure
    least: float | None = None
    most: float | None = None

    def concerns(self, row: Mapping[str, Any]) -> bool:
        return (
            (row["group"], row["method"]) == (self.group, self.method)
            and self.figure in row
            and fnmatchcase(row["problem"], self.problem)
        )

    def met(self, value: float) -> bool:
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)

    def against(self, row: Mapping[str, Any]) -> str:
        """One line: met or missed, the figure as the table has it, the bound as it was set."""
        value = row[self.figure]
        base = row.get("base", "").partition(",")[0]  # `eigh, 2 workers` is a method; `eigh` is enough here
        heading = {"ratio": f"x {base}", "seconds": "time"}.get(self.figure, self.figure)
        figure = {"seconds": brief_duration, "products": "{:.0f}".format, "limit": percent}
        bound = {"seconds": brief_duration, "limit": "{:.0%}".format}.get(self.figure, "{:g}".format)
        wanted = f"at least {bound(self.least)}" if self.least is not None else ""
        wanted += f"at most {bound(self.most)}" if self.most is not None else ""
        verdict = "met" if self.met(value) else "missed"
        written = figure.get(self.figure, three_digits)(value)
        return f"{verdict:<6} {row['problem']}, {row['method']}: {heading} {written} ({wanted})"


SOLVE, PROVED = "angsync", "+ certificate"
GOALS = (
    # how many times faster than naive, without and with the certificate, by order and noise level
    Goal("dense", "n = 4000, sigma = 0.1", SOLVE, "ratio", least=20.0),
    Goal("dense", "n = 4000, sigma = 0.1", PROVED, "ratio", least=10.0),
    Goal("dense", "n = 4000, sigma = n^(1/4)/2", SOLVE, "ratio", least=20.0),
    Goal("dense", "n = 4000, sigma = n^(1/4)/2", PROVED, "ratio", least=10.0),
    Goal("dense", "n = 4000, sigma = 0.3 sqrt(n)", SOLVE, "ratio", least=30.0),
    Goal("dense", "n = 4000, sigma = 0.3 sqrt(n)", PROVED, "ratio", least=7.5),
    Goal("dense", "n = 8000, sigma = n^(1/4)/2", SOLVE, "ratio", least=25.0),
    Goal("dense", "n = 8000, sigma = n^(1/4)/2", PROVED, "ratio", least=12.5),
    # the certificate over the solve
    Goal("dense", "n = *, sigma = 0.1", PROVED, "proof", most=1.0),
    Goal("dense", "n = *, sigma = n^(1/4)/2", PROVED, "proof", most=1.0),
    Goal("dense", "n = *, sigma = 0.3 sqrt(n)", PROVED, "proof", most=3.0),
    Goal("products", "n = 4000, sigma = n^(1/4)/2", SOLVE, "products", most=12),
    Goal("products", "n = 4000, sigma = 0.3 sqrt(n)", SOLVE, "products", most=23),
    Goal("products", "n = 4000, sigma = 0.4 sqrt(n)", SOLVE, "products", most=72),
    Goal("products", "n = 4000, sigma = 0.5 sqrt(n)", SOLVE, "products", most=139),
    Goal("small", "n = 100, *", PROVED, "seconds", most=1e-3),
    # how many times faster than eigh with all workers, easy problems
    Goal("batches", "n = 10, easy, *", SOLVE, "ratio", least=60.0),
    Goal("batches", "n = 20, easy, *", SOLVE, "ratio", least=120.0),
    Goal("batches", "n = 30, easy, *", SOLVE, "ratio", least=120.0),
    Goal("batches", "n = 60, easy, *", SOLVE, "ratio", least=60.0),
    # solve and certificate together within three times the solve
    Goal("batches", "*", PROVED, "proof", most=2.0),
    Goal("bandwidth", "*", "triangle", "limit", least=0.9),
)


def against(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One line for every goal and every row that it concerns, in the order of the rows."""
    for row in rows:
        for goal in GOALS:
            if goal.concerns(row):
                yield goal.against(row)


def main() -> None:
    results = Path(__file__).parent / "results"
    for path in map(Path, sys.argv[1:] or sorted(results.glob("*.json"))):
        figures = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(figures, dict) and figures.get("format") == FORMAT:
            print(f"{path.name}, {figures['date']}, {figures['machine']['processor']}")
            print("\n".join(f"  {line}" for line in against(figures["rows"])))


if __name__ == "__main__":
    main()
