"""What is asked for when a long solve is to be kept in a file: see :mod:`angsync.pipeline.journal`."""

from __future__ import annotations

import contextlib
import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from angsync.errors import InputError, names_init_keywords


@names_init_keywords
@dataclass(frozen=True)
class Checkpoint:
    """Where ``synchronize(data, checkpoint=...)`` keeps what it has, so that a later call can go on from there.

    Parameters
    ----------
    path
        The file. It is replaced as a whole (temporary file, fsync, rename), so that a kill at any time leaves the last
        complete one.
    every_seconds
        How often it is written, at least; also when a part of the solve has ended that took a second or more.
    resume
        Whether to go on from the file. Where there is none, the solve starts at its beginning. Without ``resume`` a
        file that is there is refused.
    keep
        Whether the file stays after a solve that went to its end. Otherwise it is removed then; a solve that was
        interrupted or ran out of time leaves it.

    What is saved: the phases of every run that has ended, those of the one that goes on, and where the random numbers
    stand. What is not: products with C and proofs, which are computed again.

    Examples
    --------
    >>> problem = ang.simulate.gaussian(50, 1.0, rng=0)
    >>> ang.synchronize(problem.C, checkpoint=ang.Checkpoint("long.ckpt", every_seconds=30)).converged
    True
    """

    path: str | os.PathLike[str]
    every_seconds: float = 60.0
    resume: bool = False
    keep: bool = False
    _calls: list[str] = field(default_factory=list, init=False, repr=False, compare=False)  # whose file may be removed

    def __post_init__(self) -> None:
        name = os.fspath(self.path) if isinstance(self.path, (str, os.PathLike)) else None
        if not isinstance(name, str) or "\0" in name:
            raise InputError(f"the path of a checkpoint must be the name of a file, but it is {self.path!r}.")
        every = self.every_seconds
        if isinstance(every, bool) or not isinstance(every, (int, float, np.number)) or not 0 <= every < math.inf:
            raise InputError(f"every_seconds must be a number of seconds, 0 or more, but it is {every!r}.")

    def remove(self) -> None:
        """Remove the file, where a call with this checkpoint has written it; the file of another solve stays.

        Where the path is a symbolic link, what it points to is removed, and the link stays for the next solve.
        """
        from angsync.pipeline.checkpoint_file import owner_of

        if owner_of(Path(self.path)) in self._calls:
            with contextlib.suppress(OSError):
                os.unlink(os.path.realpath(self.path))
