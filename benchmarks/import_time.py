"""Import time of angsync against scipy.sparse.linalg, in fresh interpreters, interleaved; the target is below 1.5."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

REPEATS = 15
STATEMENTS = {
    "import scipy.sparse.linalg": "import scipy.sparse.linalg",
    "import angsync": "import angsync",
    "angsync.synchronize reached": "import angsync; angsync.synchronize",
}


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in STATEMENTS}
    for _ in range(REPEATS):
        for name, statement in STATEMENTS.items():
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            times[name].append(time.perf_counter() - begin)
    medians = {name: statistics.median(values) for name, values in times.items()}
    reference = medians["import scipy.sparse.linalg"]
    print(f"{'statement':<32}{'median':>10}{'ratio':>8}   (start of the interpreter included)")
    for name, seconds in medians.items():
        print(f"{name:<32}{seconds * 1e3:>7.0f} ms{seconds / reference:>8.2f}")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "import_time.json").write_text(
        json.dumps({"seconds": medians, "repeats": REPEATS, "python": sys.version})
    )


if __name__ == "__main__":
    main()
