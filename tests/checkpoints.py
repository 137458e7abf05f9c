"""Solves with checkpoints: what was written on the way, and arrays that are read part by part."""

from __future__ import annotations

import shutil
import warnings

import angsync as ang
from angsync.errors import AngsyncWarning
from angsync.pipeline import journal
from angsync.pipeline.checkpoint import Checkpoint


def solved(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AngsyncWarning)
        return ang.synchronize(data, **options)


def with_every_write(data, folder, monkeypatch, **options):
    """The result, and a copy of every checkpoint that was written on the way."""
    copies = []

    def save(path, content, real=journal.save):
        real(path, content)
        copies.append(folder / f"copy{len(copies)}")
        shutil.copy(path, copies[-1])

    with monkeypatch.context() as patch:
        patch.setattr(journal, "save", save)
        result = solved(data, checkpoint=Checkpoint(folder / "check", every_seconds=0), **options)
    return result, copies


class Stored:
    """An array that is read part by part."""

    def __init__(self, C):
        self.C, self.shape, self.dtype, self.chunks = C, C.shape, C.dtype, (40, 40)

    def __getitem__(self, index):
        return self.C[index]
