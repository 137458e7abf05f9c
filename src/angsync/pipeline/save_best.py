"""The best phases of a long solve in a file, so that a kill does not lose them."""

from __future__ import annotations

import math
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncWarning, InputError, OutputError, names_init_keywords, warn_user
from angsync.solvers.stopping import Callback, History, Progress, Status


@names_init_keywords
@dataclass
class SaveBest:
    """Save the best phases so far, as ``synchronize(data, callback=ang.SaveBest("best.npz"))``.

    Every iterate is a good estimate, so a later call starts where the earlier one was killed:
    ``start=ang.load_result("best.npz")``. The file is a saved result. It is replaced as a whole (temporary file,
    rename), so that a kill at any time leaves the last complete one. Each component is in the gauge of the solver. The
    phases of components that the solve has not reached are NaN, and a call that starts from the file starts these anew.

    Parameters
    ----------
    path
        The npz file. An existing file is replaced when the first phases are saved.
    seconds
        Time between two saves, at least (default: 30). The first phases are saved at once.
    then
        Another callback, which is called with every iterate as well (default: none).

    Examples
    --------
    >>> problem = ang.simulate.gaussian(50, 1.0, rng=0)
    >>> result = ang.synchronize(problem.C, callback=ang.SaveBest("best.npz", seconds=10))
    >>> ang.synchronize(problem.C, start=ang.load_result("best.npz")).converged
    True
    """

    path: str | os.PathLike[str]
    seconds: float = 30.0
    then: Callback | None = None
    _objectives: dict[int, float] = field(default_factory=dict, init=False, repr=False, compare=False)
    _z: NDArray = field(default_factory=lambda: np.empty(0), init=False, repr=False, compare=False)
    _next: float = field(default=-math.inf, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        name = os.fspath(self.path) if isinstance(self.path, (str, os.PathLike)) else None
        if not isinstance(name, str) or Path(name).suffix != ".npz":
            raise InputError(f"SaveBest needs the name of an npz file, but path is {self.path!r}.")
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, (int, float)) or not self.seconds >= 0:
            raise InputError(f"seconds must be a number, 0 or more, but it is {self.seconds!r}.")
        from angsync.io.atomic import check_writable  # a solve without SaveBest need not load the writers

        check_writable(Path(name))

    def __call__(self, progress: Progress) -> Any:
        """Take the iterate, and return what the other callback returns."""
        self._take(progress)
        return None if self.then is None else self.then(progress)

    def _take(self, progress: Progress) -> None:
        """Keep the iterate if it is the best of its component, and save all phases if it is time."""
        if progress.iteration == 0 and progress.component in self._objectives:  # another call
            self._objectives.clear()
        if not self._objectives:
            self._z = np.full(progress.n, np.nan, dtype=progress.z.dtype)
        best = self._objectives.setdefault(progress.component, -math.inf)
        if not progress.objective > best:
            return
        self._objectives[progress.component] = progress.objective
        self._z[progress.nodes] = progress.z
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + self.seconds
            self._save(progress)

    def _save(self, progress: Progress) -> None:
        from angsync.pipeline.result import SyncResult

        best = SyncResult(
            z=self._z.copy(),
            objective=math.fsum(self._objectives.values()),
            residual=progress.residual,
            status=Status.INTERRUPTED,
            message="The best phases so far of a solve that went on.",
            iterations=progress.iteration,
            matvecs=0,
            seconds=progress.seconds,
            history=History(),
            certificate=None,
            method="saved by SaveBest",
            components=np.zeros(progress.n, dtype=np.int64),
            gauge="free",
            labels=progress.labels,
        )
        try:
            best.save(self.path)
        except OutputError as error:  # a full disk must not end a solve
            warn_user(f"{error} The solve continues; the file holds what was saved before.", AngsyncWarning)
            self._next = math.inf
        except ValueError as error:
            if isinstance(error.__context__, KeyboardInterrupt):  # zipfile complains of what Ctrl-C left open
                raise KeyboardInterrupt from None
            raise
