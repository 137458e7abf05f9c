"""Who runs the tasks: this process, one after the other, or others (:mod:`angsync.io.chunked.on_cluster`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from angsync.io.chunked.grid import Chunk

Task = Callable[[Chunk], dict[str, Any]]
"""What is done for one chunk, anywhere: it can be pickled, looks for its marker first and returns at once where that is
valid; else it reads, computes, writes whole chunks of the output, and its marker last. Its report is small."""


class Outcome(NamedTuple):
    """How one task ended: with a report, or with what was raised."""

    chunk: Chunk
    report: dict[str, Any] | None
    error: Exception | None


Runner = Callable[[Task, Sequence[Chunk]], Iterator[Outcome]]
"""Runs a task for each of these chunks and yields the outcomes as they come, in any order. An error of a task is an
outcome; Ctrl-C is raised. Closing the iterator ends the work: what has not begun by then is left."""


def in_process(task: Task, chunks: Sequence[Chunk]) -> Iterator[Outcome]:
    """One after the other, here."""
    for chunk in chunks:
        try:
            report = task(chunk)
        except Exception as error:
            yield Outcome(chunk, None, error)
        else:
            yield Outcome(chunk, report, None)
