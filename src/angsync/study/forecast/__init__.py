"""``angsync plan``: what a file would take here, and what to choose instead, before anything is loaded.

The route is the one that :mod:`angsync.pipeline.regime` takes; the times are those of small problems of the same kind,
solved here and now, scaled up; memory is what such problems took (``benchmarks/plan.py`` compares forecasts with runs).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from angsync.io.header import Header
from angsync.io.limits import in_bytes
from angsync.problem.memory import free_bytes
from angsync.problem.operators.first_read import NARROW_UP_TO_BYTES, narrow_bytes
from angsync.study.forecast import speed

# Memory as it was measured, in bytes: of the process itself, and of a solve beside or instead of the data.
_PROCESS = 80_000_000
_DENSE_TIMES = {True: 1.25, False: 1.13}  # of the matrix, in single and in double precision: C and its narrow copy
_STREAM_BYTES = 280_000_000  # tiles and vectors of a streamed matrix
_EDGE_BYTES, _EDGE_BYTES_OF_MANY = 185, 100  # of an edge of a graph that mixes well, certified
_MANY_EDGES = 1 << 20  # from which indices are kept in 32 bits and C is put together in place
_YEAR_SECONDS = 365.25 * 86400
_MESH_BYTES = 1200  # of an edge of a mesh: its factorisation
_TEXT_BYTES = 240  # of an edge beside that, while a text is read
_STACK_BYTES_A_NODE = 60  # of a node of a stack: phases, numbers, workspace
_CHUNK_BYTES = 300_000_000  # of a worker that reads a store chunk by chunk
# Work
_FIRST_SECONDS = 1.0  # code that the first solve loads
_READS = 4  # of the triangle of a streamed matrix with a narrow copy: two at first, then a few products in double
_READS_WITHOUT = 36  # without one every product is a read: two at first, 26 of the solve and 8 of the proof
_MESH_POWER = 0.2  # a factorisation takes more an edge the larger the mesh
_LOADED_BYTES = 400_000_000  # up to which a stored matrix is loaded
_DIRECT_EDGES = 5_000_000  # of a mesh: above, the proof is by a multilevel cycle, and no factors are kept
_LONG_SECONDS = 600.0  # from which more machines, or a way to go on after a fault, are worth a word
_DISK_GOOD = 5e9  # bytes a second of a good disk, for comparison


@dataclass
class Forecast:
    """What a file would take on this machine."""

    header: Header
    route: str
    memory: float = 0.0
    free: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    """By what they are for."""
    measured: dict[str, float] = field(default_factory=dict)
    instead: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)

    @property
    def fits(self) -> bool:
        return self.memory <= self.free

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        header = asdict(self.header)
        header |= {"path": str(self.header.path), "dtype": self.header.dtype.name, "shape": list(self.header.shape)}
        return {
            "file": header, "problems": self.header.problems, "route": self.route, "memory_bytes": round(self.memory),
            "free_bytes": self.free, "fits": self.fits, "seconds": self.seconds, "total_seconds": self.total,
            "measured": self.measured, "instead": self.instead, "assumed": self.assumed,
        }  # fmt: skip

    def __str__(self) -> str:
        parts = ", ".join(f"{what} {in_time(one)}" for what, one in self.seconds.items())
        verdict = "enough" if self.fits else "NOT ENOUGH"
        lines = [
            f"{self.header.path}: {_contents(self.header)}",
            f"  would be     {self.route}",
            f"  memory       {in_bytes(round(self.memory))} of {in_bytes(self.free)} that are free: {verdict}",
            f"  time         about {in_time(self.total)} ({parts})",
            f"  measured     {', '.join(_measure(name, value) for name, value in self.measured.items())}",
        ]
        lines += [f"  instead      {one}" for one in self.instead]
        lines += [f"  assumed      {one}" for one in self.assumed]
        return "\n".join(lines)


def forecast(header: Header, pixel_seconds: Callable[[int], float] | None = None) -> Forecast:
    """The forecast for a file. ``pixel_seconds(dates)`` measures what a pixel of images takes."""
    disk = speed.read_bandwidth(header)
    measured = {"disk_bytes_a_second": disk, "memory_bytes_a_second": speed.memory_bandwidth()}
    make = {"matrix": _matrix, "stack": _stack, "edges": _edges}
    found = _images(header, disk, pixel_seconds) if header.kind == "images" else make[header.kind](header, disk)
    found.free, found.measured = free_bytes(), {**measured, **found.measured}
    if header.estimated:
        found.assumed.append("the number of edges, and of nodes, is counted from a part of the file")
    if header.absent:
        found.assumed.append(
            f"{header.absent} chunk(s) that the store does not hold were never written (--absent empty); otherwise a "
            "solve refuses them"
        )
    if not found.fits and not found.instead:
        found.instead.append("a machine with more memory")
    return found


def _matrix(header: Header, disk: float) -> Forecast:
    n, free = header.n, free_bytes()
    entry = 8 if header.dtype.itemsize <= 8 else 16
    if header.chunked and header.nbytes > _LOADED_BYTES:
        return _streamed(header, disk)
    sample = speed.dense_seconds(header.dtype)
    solve = _FIRST_SECONDS + sample * (n / speed.DENSE_NODES) ** 2
    measured = {"dense_products_bytes_a_second": 26 * entry * speed.DENSE_NODES**2 / sample}
    memory = _PROCESS + _DENSE_TIMES[entry == 8] * entry * n * n
    found = Forecast(header, f"one dense problem in memory (n = {n}), proved by products", memory)
    found.seconds, found.measured = {"read": header.read_bytes / disk, "solve and prove": solve}, measured
    if entry == 16 and n > 2000:
        found.instead.append("complex64: half the memory and the time, where the data are no better than 1e-7")
    if memory > free:
        triangle = header.dtype.itemsize * n * (n + 1) / 2
        streamed = _streamed(header, disk)
        found.instead.append(
            f"stream it: ang.synchronize(zarr array or h5py dataset) reads a triangle of {in_bytes(round(triangle))} "
            f"once a product, {in_time(triangle / disk)} each from this disk ({in_time(triangle / _DISK_GOOD)} at 5 "
            f"GB/s); {in_time(streamed.total)} in all, with {in_bytes(round(streamed.memory))} of memory"
        )
        found.instead.append("several machines: the blocks of the triangle as an operator (docs/cluster.md)")
    return found


def _streamed(header: Header, disk: float) -> Forecast:
    n = header.n
    narrow = narrow_bytes(n)
    has_copy = narrow <= NARROW_UP_TO_BYTES
    triangle = header.nbytes / 2
    reads = _READS if has_copy else _READS_WITHOUT
    found = Forecast(
        header,
        f"one dense problem larger than is loaded (n = {n}): its triangle is read {reads} times, block by block"
        + (", and a narrow copy of it stays in memory" if has_copy else ""),
        _PROCESS + _STREAM_BYTES + 20 * 16 * n + (narrow if has_copy else 0),
    )
    # the sample has a narrow copy; without one every read is multiplied by itself
    solve = speed.streamed_seconds(header.dtype) * (n / speed.DENSE_NODES) ** 2 * reads / _READS
    found.seconds = {"read": triangle * reads / disk, "multiply": _FIRST_SECONDS + solve}
    if header.dtype.itemsize > 8:
        found.instead.append("complex64 on disk: half the bytes of every read")
    if found.total > _LONG_SECONDS:
        found.instead.append("checkpoint=ang.Checkpoint(path): a solve that is killed goes on from there")
    return found


def _stack(header: Header, disk: float) -> Forecast:
    each = speed.stack_seconds(header.n, header.dtype)
    count, entry = header.problems, 8 if header.dtype.itemsize <= 8 else 16
    loaded = entry * header.n**2 * count
    memory = _PROCESS + loaded + count * header.n * _STACK_BYTES_A_NODE
    found = Forecast(header, f"a stack: {count} problems of {header.n} nodes in the batch kernels, each proved", memory)
    found.seconds = {"read": header.read_bytes / disk, "solve and prove": _FIRST_SECONDS + each * count}
    found.measured = {"problems_a_second": 1 / each}
    if header.chunked:
        found.memory = min(memory, _PROCESS + _CHUNK_BYTES + count * header.n * _STACK_BYTES_A_NODE)
        found.route += ", read chunk by chunk"
    elif memory > 0.5 * free_bytes():
        found.instead.append("a zarr store instead of one file: it is read in parts (ang.synchronize(zarr array))")
    if header.read_bytes / disk > 0.3 * found.total:
        found.instead.append(
            f"where the images are at hand: angsync link reads {8 * header.n} bytes a pixel, not {entry * header.n**2}"
        )
    if found.total > _LONG_SECONDS:
        found.instead.append("several machines: every chunk is a task of its own (docs/cluster.md)")
    return found


def _images(header: Header, disk: float, pixel_seconds: Callable[[int], float] | None) -> Forecast:
    each = 0.0 if pixel_seconds is None else pixel_seconds(header.n)
    count = header.problems
    results = count * (4 * 2 * header.n + 14)
    found = Forecast(
        header, f"angsync link: {count} pixels of {header.n} dates, tile by tile, each proved", _PROCESS + _CHUNK_BYTES
    )
    found.memory += 0 if header.chunked else results
    found.seconds = {"read": header.read_bytes / disk, "link": _FIRST_SECONDS + each * count, "write": results / disk}
    found.measured = {"pixels_a_second": 1 / each} if each else {}
    if found.total > _LONG_SECONDS:
        found.instead.append("--out OUT.zarr --resume: finished chunks are not done again after a fault")
        found.instead.append("--scheduler ADDRESS: chunks on the workers of a cluster (docs/cluster.md)")
    if not header.chunked:
        found.instead.append("a zarr store: results are then written chunk by chunk, and need no memory")
    return found


def _edges(header: Header, disk: float) -> Forecast:
    edges, n = header.edges or 0, header.n
    degree = 2 * edges / max(1, n)
    meshed = degree <= speed.MESH_DEGREE
    each = speed.sparse_seconds(degree)
    direct = meshed and edges <= _DIRECT_EDGES
    kind = "few measurements a node, as in a mesh" if meshed else f"{degree:.0f} measurements a node, mixing well"
    proof = "a direct factorisation" if direct else "a multilevel cycle" if meshed else "Lanczos"
    found = Forecast(header, f"one sparse problem ({kind}), proved by {proof}")
    each_bytes = _EDGE_BYTES if edges < _MANY_EDGES else _EDGE_BYTES_OF_MANY
    found.memory = _PROCESS + edges * ((_MESH_BYTES if direct else each_bytes) + (_TEXT_BYTES if header.text else 0))
    growth = max(1.0, edges / speed.SPARSE_EDGES) ** _MESH_POWER if meshed else 1.0
    found.seconds = {"solve and prove": _FIRST_SECONDS + each * edges * growth}
    found.measured = {"edges_a_second": 1 / each}
    if header.text:
        row = speed.row_seconds(header.path, header.columns)
        found.seconds = {"read": row * edges, **found.seconds}
        found.measured["rows_a_second"] = 1 / row
        if edges > 1_000_000:
            found.instead.append("npz or parquet instead of text: read in a fraction of the time")
    else:
        found.seconds = {"read": header.read_bytes / disk, **found.seconds}
    if found.memory > free_bytes():
        found.instead.append(
            f"--no-certify: about {in_bytes(round(_PROCESS + 0.7 * each_bytes * edges))}; or parts of the graph, "
            "solved one by one and joined (docs/cluster.md)"
        )
    found.assumed.append(f"the graph is {'a mesh' if meshed else 'like one of random pairs'}: others may take longer")
    return found


def in_time(seconds: float) -> str:
    """``6.2 h``."""
    if seconds > 1000 * _YEAR_SECONDS:
        return "more than a thousand years"
    for unit, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 1.5 * size:
            return f"{seconds / size:.2g} {unit}" if seconds < 10 * size else f"{seconds / size:.0f} {unit}"
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"


def _contents(header: Header) -> str:
    size = in_bytes(header.stored)
    if header.kind == "matrix":
        return f"a matrix of order {header.n}, {header.dtype.name}, {size} on disk"
    if header.kind == "stack":
        return f"{header.problems} matrices of order {header.n}, {header.dtype.name}, {size} on disk"
    if header.kind == "images":
        dates, rows, columns = header.shape
        return f"{dates} images of {rows} x {columns} pixels, {header.dtype.name}, {size} on disk"
    about = "about " if header.estimated else ""
    return f"{about}{header.edges} edges between {about}{header.n} nodes, {size} on disk"


def _measure(name: str, value: float) -> str:
    words = name.replace("_", " ")
    if "bytes" in name:
        return f"{words.replace(' bytes a second', '')} {in_bytes(round(value))}/s"
    return f"{value:.3g} {words}"
