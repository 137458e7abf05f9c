"""The run: one group after the other, stored as soon as it is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from angsync.errors import InputError
from angsync.io.strict_json import cleaned, write_json
from angsync.study import machine
from angsync.study.bench import batches, dense, growth, peers
from angsync.study.bench.bandwidth import Meter
from angsync.study.bench.names import TITLES
from angsync.study.bench.rows import Row, disagreements
from angsync.study.bench.setting import Setting, Tick
from angsync.study.bench.sizes import FULL, QUICK, Size

FORMAT, VERSION = "angsync-benchmark", 1


@dataclass(frozen=True)
class Group:
    """A part of the benchmark with a table of its own."""

    name: str
    title: str
    run: Callable[[Setting], Iterator[Row]]


_RUNS: dict[str, Callable[[Setting], Iterator[Row]]] = {
    "dense": dense.dense,
    "products": dense.products,
    "small": dense.small,
    "batches": batches.batches,
    "growth": growth.growth,
    "bandwidth": growth.bandwidth,
}
GROUPS = {name: Group(name, title, _RUNS[name]) for name, title in TITLES.items()}


def _silent() -> AbstractContextManager[Tick]:
    return nullcontext(lambda what, share: None)


def run_groups(
    names: Sequence[str] = (),
    *,
    quick: bool = False,
    peers_too: bool = False,
    repeats: int | None = None,
    seed: int = 0,
    path: Path | None = None,
    size: Size | None = None,
    watching: Callable[[], AbstractContextManager[Tick]] = _silent,
    begun: Callable[[dict[str, Any]], None] = lambda results: None,
    finished: Callable[[Group, list[Row]], None] = lambda group, rows: None,
) -> dict[str, Any]:
    """Run the groups in the order given (all where none is named) and return everything that was measured.

    ``path`` gets the results after every group, so that an interrupted run keeps what was finished. ``watching`` opens
    a progress bar for one group; ``begun`` gets the head of the results, and ``finished`` the rows of a group after its
    bar was closed.
    """
    chosen = list(dict.fromkeys(names)) or list(GROUPS)
    for name in chosen:
        if name not in GROUPS:
            raise InputError(f"there is no group of benchmarks named {name!r}. There are: {', '.join(GROUPS)}.")
    if repeats is not None and repeats < 1:
        raise InputError(f"repeats must be at least 1, but it is {repeats}.")
    size = (QUICK if quick else FULL) if size is None else size
    repeats = size.repeats if repeats is None else repeats
    meter = Meter(size.block_bytes)
    read = meter.measure()
    results: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        **machine.for_timings(),
        "settings": {"groups": chosen, "quick": quick, "peers": peers_too, "repeats": repeats, "seed": seed},
        "peers": {name: state for name, _, state in peers.table()} if peers_too else {},
        "read_bytes_a_second": {"one_thread": read.one, "all_threads": read.all},
        "rows": [],
        "disagreements": [],
    }
    begun(results)
    for name in chosen:
        with watching() as report:

            def tick(what: str, share: float, name: str = name, report: Tick = report) -> None:
                report(f"{name}, {what}", share)

            rows = list(GROUPS[name].run(Setting(size, repeats, seed, peers_too, meter, tick)))
        results["rows"] += [cleaned(row.as_dict()) for row in rows]
        results["disagreements"] += disagreements(rows)
        if path is not None:
            write_json(results, path)
        finished(GROUPS[name], rows)
    return results


def heading(results: dict[str, Any]) -> list[tuple[str, str]]:
    """What the figures were measured on, for the head of the tables."""
    about, read = results["machine"], results["read_bytes_a_second"]
    memory = "" if about["memory_bytes"] is None else f", {about['memory_bytes'] / 1e9:.0f} GB"
    tried = results["threads"]["blas_tried"]
    blas = f"{' or '.join(tried)}, whichever is faster for the method"
    if tried == ["as set"]:
        blas = "as set by the environment: to try others, pip install threadpoolctl"
    elif len(tried) == 1:
        blas = f"{tried[0]} (BLAS started with no more)"
    return [
        ("machine", f"{about['processor']}, {about['cores']} cores{memory}"),
        ("read", f"{read['one_thread'] / 1e9:.1f} GB/s by one thread, {read['all_threads'] / 1e9:.1f} GB/s by all"),
        ("kernels", results["kernels"]),
        ("BLAS threads", blas),
        ("runs", f"medians of {results['settings']['repeats']}, taking turns; seed {results['settings']['seed']}"),
    ]
