"""Pieces of a result on their way into arrays, with the counts that a result tells."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.phase_linking.estimate import Block, LinkStatus, Settings
from angsync.applications.phase_linking.result import Linked
from angsync.applications.phase_linking.stores import Memory, NetcdfStore, Store, layout
from angsync.applications.phase_linking.tiles import TILE, Piece, Tile
from angsync.batch.result import BatchResult, BatchStatus
from angsync.io.image_stack import ImageStack

_PROBLEMS: dict[str, Any] = {
    "objective": np.float64, "residual": np.float64, "iterations": np.int32, "components": np.int32,
    "verdict": np.int8, "gap_bound": np.float64, "relative_gap": np.float64, "lambda_2": np.float64,
}  # fmt: skip


class Gathered:
    """Arrays that are written piece by piece."""

    def __init__(self, shape: tuple[int, int, int], store: Store, problems: dict[str, NDArray] | None) -> None:
        self.shape, self.store, self.problems = shape, store, problems
        self.counts = dict.fromkeys([*(status.name for status in LinkStatus), "CERTIFIED"], 0)
        self.beta = [np.inf, -np.inf]
        self.few = 0
        self.noise = np.zeros(shape[0], dtype=np.int64)
        self.interrupted = False
        self.has_verdict = False
        self.failed: dict[str, str] = {}
        self.failed_pixels = 0

    @classmethod
    def of(
        cls, shape: tuple[int, int, int], single: bool, output: Path | None, given: ImageStack | None, *,
        keep_problems: bool, side: int = TILE, told: Mapping[str, str] | None = None,
    ) -> Gathered:  # fmt: skip
        """Arrays in memory, or in a NetCDF file that is written in chunks of this side."""
        n, *image = shape
        size = (image[0], image[1])
        if output is not None:
            assert given is not None
            assert told is not None
            return cls(shape, NetcdfStore(output, layout(n, size, single), side, given, told), None)
        if not keep_problems:
            return cls(shape, Memory(layout(n, size, single)), None)
        problems: dict[str, NDArray] = {name: np.zeros(size, kind) for name, kind in _PROBLEMS.items()}
        problems["z"] = np.full((*size, n), np.nan, np.complex64 if single else np.complex128)
        problems["status"] = np.full(size, BatchStatus.INTERRUPTED, dtype=np.int8)
        problems["verdict"][:] = 1
        return cls(shape, Memory(layout(n, size, single)), problems)

    def add(self, piece: Piece) -> bool:
        """Write one piece; True where Ctrl-C came while it was solved."""
        return self._add(piece.tile, piece.block, piece.looks)

    def add_block(self, part: slice, block: Block, looks: NDArray[np.float64]) -> bool:
        """Problems without an image."""
        return self._add(Tile(part.start, part.stop, 0, 1), block, looks)

    def _add(self, tile: Tile, block: Block, looks: NDArray[np.float64]) -> bool:
        n = self.shape[0]
        place, size = tile.place, tile.shape
        sync = block.sync
        certified = np.zeros(len(looks), dtype=bool) if sync.verdict is None else sync.verdict == 0
        self.has_verdict |= sync.verdict is not None
        values: Any
        for name, values in (("phase", sync.angles), ("standard_error", block.standard_error)):
            self.store.write(name, (slice(0, n), *place), values.reshape(*size, n).transpose(2, 0, 1))
        for name, values in (
            ("temporal_coherence", block.temporal_coherence), ("certified", certified), ("status", block.status),
            ("looks", looks),
        ):  # fmt: skip
            self.store.write(name, place, values.reshape(size))
        if self.problems is not None:
            for name, kept in self.problems.items():
                values = vars(sync)[name]
                if values is not None:
                    kept[place] = values.reshape(kept[place].shape)
        for code, number in zip(*np.unique(block.status, return_counts=True), strict=True):
            self.counts[LinkStatus(int(code)).name] += int(number)
        self.counts["CERTIFIED"] += int(certified.sum())
        used = looks > 0
        if used.any():
            self.beta = [min(self.beta[0], block.beta[used].min()), max(self.beta[1], block.beta[used].max())]
        self.few += int(np.count_nonzero(used & (looks < n)))
        self.noise += np.count_nonzero(block.noise, axis=0)
        self.interrupted |= bool((block.status == LinkStatus.INTERRUPTED).any())
        return self.interrupted

    def report(self) -> dict[str, Any]:
        """The counts, for a marker."""
        beta = self.beta if self.beta[0] <= self.beta[1] else None
        return {"counts": self.counts, "beta": beta, "few": self.few, "has_verdict": self.has_verdict,
                "noise": self.noise.tolist()}  # fmt: skip

    def merge(self, report: Mapping[str, Any]) -> None:
        """Add the counts of a chunk that is done."""
        for name, number in report["counts"].items():
            self.counts[name] += number
        if report["beta"] is not None:
            self.beta = [min(self.beta[0], report["beta"][0]), max(self.beta[1], report["beta"][1])]
        self.few += report["few"]
        self.noise += np.array(report.get("noise", 0))  # stores of older versions do not say it
        self.has_verdict |= report["has_verdict"]

    def result(
        self, settings: Settings, names: tuple[str, ...], begin: float, coordinates: Mapping[str, Any], *, n: int,
        leading: tuple[int, ...] | None = None, path: str | None = None,
    ) -> Linked:  # fmt: skip
        """What was found; pixels that were not reached are INTERRUPTED."""
        arrays = self.store.finish()
        reached = sum(self.counts[status.name] for status in LinkStatus)
        missing = self.shape[1] * self.shape[2] - reached
        self.counts["INTERRUPTED"] += missing - self.failed_pixels
        if self.failed_pixels:
            self.counts["FAILED"] = self.failed_pixels
        seconds = time.perf_counter() - begin
        sync = self._sync(settings, seconds, n, leading)
        if leading is not None:
            arrays = {
                name: np.moveaxis(array[..., 0], 0, -1).reshape(*leading, n) if array.ndim == 3 else
                array[:, 0].reshape(leading) for name, array in arrays.items()
            }  # fmt: skip
        beta = (0.0, 0.0) if self.beta[0] > self.beta[1] or settings.method == "evd" else tuple(self.beta)
        return Linked(
            **arrays, sync=sync, method=settings.method, reference=settings.reference, dates=names,
            counts=dict(self.counts), beta=(float(beta[0]), float(beta[1])), seconds=seconds,
            notes=self._notes(settings, names), dates_first=leading is None, coordinates=dict(coordinates),
            path=path, failed=dict(self.failed),
        )  # fmt: skip

    def _sync(self, settings: Settings, seconds: float, n: int, leading: tuple[int, ...] | None) -> BatchResult:
        if self.problems is None:
            nothing = np.empty(0)
            return BatchResult(
                z=np.empty((0, n), dtype=complex), objective=nothing, residual=nothing,
                iterations=np.empty(0, dtype=np.int32), status=np.empty(0, dtype=np.int8), tolerance=0.0,
                gauge=settings.reference, seconds=seconds,
            )  # fmt: skip
        problems: dict[str, Any] = dict(self.problems)
        if not self.has_verdict:
            for name in ("verdict", "gap_bound", "relative_gap", "lambda_2", "components"):
                problems[name] = None
        if leading is not None:
            for name, array in problems.items():
                if array is not None:
                    problems[name] = array.reshape(*leading, n) if name == "z" else array.reshape(leading)
        return BatchResult(tolerance=1e-10, gauge=settings.reference, seconds=seconds, **problems)

    def _notes(self, settings: Settings, names: tuple[str, ...]) -> tuple[str, ...]:
        notes, counts, n = [], self.counts, len(names)
        pixels = self.shape[1] * self.shape[2]
        low, high = self.beta
        if self.few and settings.method != "evd":
            if settings.beta == 0:
                notes.append(
                    f"fewer looks than dates ({n}) at {self.few:,} of {pixels:,} pixels, and no regularization: their "
                    "phases are not to be believed (status FEW_LOOKS). Take beta=0.1, a larger window, or method='evd'."
                )
            else:
                notes.append(
                    f"fewer looks than dates ({n}) at {self.few:,} of {pixels:,} pixels: beta was raised up to "
                    f"{high:.3g} there."
                )
        elif low < high and settings.method != "evd":
            notes.append(f"beta is {low:.3g} to {high:.3g}: it is raised where there are few looks.")
        if counts["NOT_FINITE"]:
            notes.append(
                f"{counts['NOT_FINITE']:,} pixels have coherences that cannot be inverted: no phases there. Take "
                "beta=0.1 or method='evd'."
            )
        if counts["CONSTANT"]:
            notes.append(f"{counts['CONSTANT']:,} pixels have the same number at every date: taken for a fill value.")
        if counts["NO_REFERENCE"]:
            notes.append(
                f"{counts['NO_REFERENCE']:,} pixels have no data, or only noise, at the reference date: no phases."
            )
        if self.noise.any():
            most = int(np.argmax(self.noise))
            notes.append(
                f"{int(self.noise.sum()):,} phases are NaN: their date is no more coherent with the others than noise "
                f"is. Most of them are of date {names[most]}, at {self.noise[most]:,} of {pixels:,} pixels."
            )
        if counts["DISCONNECTED"]:
            notes.append(f"at {counts['DISCONNECTED']:,} pixels, dates are in several groups without a common look.")
        if counts["INTERRUPTED"]:
            notes.append(f"interrupted: {counts['INTERRUPTED']:,} of {pixels:,} pixels were not reached.")
        if counts["EMPTY"] + counts["CONSTANT"] == pixels:
            notes.append("no pixel holds data: every one is masked, zero, NaN or constant.")
        return tuple(notes)
