"""Checkpoints of one long solve: what is kept of it, when it is written, and how a later call goes on from it.

A solve is a sequence of *points that took long to make* (starts, repairs) and *runs* of the one loop, each of which
ends at a point. The journal of a component has one entry for each that has ended, and the best point so far of the run
that is going on. A call that resumes is the same program from its beginning, in which every entry takes the place of
the work behind it: the same decisions follow, in the same order, with the same random numbers. Some of them, such as
how many starts are tried, follow from the products that were spent: an entry says how many were, and they count again.

Phases alone are taken from the file. Products, objectives and residuals are computed again from the data at hand, and
every proof runs again, so that a checkpoint of whatever origin can make an answer late, but not wrong.
"""

from __future__ import annotations

import math
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.errors import AngsyncWarning, FileFormatError, InputError, OutputError, warn_user
from angsync.io.atomic import check_writable
from angsync.pipeline.checkpoint import Checkpoint
from angsync.pipeline.checkpoint_file import Content, load, owner_of, save
from angsync.solvers.stopping import History, Status

# Written when a run or a start has ended, however long the interval: work of less than this is not worth a write.
_WORTH_SECONDS = 1.0


class Entry(NamedTuple):
    """Something that has ended."""

    kind: str
    """``"point"`` or ``"run"``."""
    z: NDArray | None
    """Phases in the order of the part; None where nothing was found."""
    facts: dict[str, Any]
    history: NDArray[np.float64] | None = None


class Going(NamedTuple):
    """The best point so far of a run that has not ended."""

    place: int
    """How many entries were there when the run began."""
    iterations: int
    z: NDArray
    products: int
    """With C, of the run so far."""


@dataclass
class Part:
    """The journal of one component, or of the whole in one call, read from its beginning."""

    journal: Journal
    entries: list[Entry]
    going: Going | None = None
    place: int = 0

    def recall(self, kind: str, n: int) -> Entry | None:
        """The next thing that has ended already; None where there is none, or where this call takes another way."""
        if self.place == len(self.entries):
            return None
        entry = self.entries[self.place]
        if entry.kind != kind or (entry.z is not None and entry.z.shape != (n,)):
            del self.entries[self.place :]
            self.going = None
            return None
        self.place += 1
        return entry

    def damaged(self) -> FileFormatError:
        """What is said of an entry that no solve can have written."""
        return FileFormatError(
            f"the checkpoint {self.journal.settings.path} is damaged: an entry does not hold what the solve "
            "has to go on from. Remove the file to start anew."
        )

    def add(self, kind: str, z: NDArray | None, history: History | None = None, **facts: Any) -> None:
        """Something has ended."""
        table = None if history is None else np.array([history.objective, history.residual, history.step])
        self.entries.append(Entry(kind, z, facts, table))
        self.place, self.going = len(self.entries), None
        self.journal.offer(_WORTH_SECONDS)

    def inside(self, n: int) -> Going | None:
        """Where the run that begins now had got to; None where it is new."""
        going = self.going
        return going if going is not None and going.place == self.place and going.z.shape == (n,) else None

    def keep(self, iterations: int, z: NDArray, products: int) -> None:
        """The best point of the run that goes on."""
        self.going = Going(self.place, iterations, z, products)
        self.journal.offer()


@dataclass
class Journal:
    """All parts of one call, and the file."""

    settings: Checkpoint
    identity: dict[str, Any]
    """What the checkpoint belongs to: numbers and words by name, and arrays (``rows``, ``image``)."""
    parts: dict[int, Part] = field(default_factory=dict)
    owners: tuple[str, ...] = ()
    """Whose file may be replaced: that of this call, and the one that it goes on from."""
    _last: float = field(default_factory=time.monotonic)
    _changed: bool = False
    _failed: bool = False
    _taken: bool = False

    @classmethod
    def opened(cls, settings: Checkpoint, identity: dict[str, Any]) -> Journal:
        """The journal of a call that begins; what cannot be used is refused now."""
        from angsync.pipeline.checkpoint_identity import check_same

        path = Path(settings.path)
        journal = cls(settings, identity, owners=(secrets.token_hex(8),))
        check_writable(path)
        settings._calls.extend(journal.owners)
        if not path.exists():
            return journal
        if owner_of(path) is None:
            raise FileFormatError(f"{path} is there, and is no checkpoint, or a damaged one. Give another name.")
        if not settings.resume:
            raise InputError(
                f"there is a checkpoint {path} already. Go on from it (resume=True, --resume), or remove it to start "
                "anew."
            )
        content = load(path)
        check_same(path, content.identity, identity)
        journal.identity["rng_state"] = content.identity.get("rng_state")
        journal.owners = (journal.owners[0], content.owner)
        settings._calls.append(content.owner)
        for number, entries in content.entries.items():
            going = content.going.get(number)
            journal.parts[number] = Part(
                journal, [Entry(*entry) for entry in entries], None if going is None else Going(*going)
            )
        return journal

    def part(self, number: int) -> Part:
        return self.parts.setdefault(number, Part(self, []))

    def offer(self, seconds: float = math.inf) -> None:
        """Write, if the last time is long enough ago: the interval asked for, or ``seconds`` where that is less."""
        self._changed = True
        if time.monotonic() - self._last >= min(self.settings.every_seconds, seconds):
            self.write()

    def write(self) -> None:
        """Replace the file. A failure is said once, and the solve goes on."""
        path = Path(self.settings.path)
        if self._taken or not self._changed:
            return
        content = Content(
            self.owners[0],
            self.identity,
            {number: [tuple(entry) for entry in part.entries] for number, part in self.parts.items()},
            {number: tuple(part.going) for number, part in self.parts.items() if part.going is not None},
        )
        try:
            if not self._is_ours(path):
                return
            save(path, content)
            self._changed = False
        except (OutputError, OSError) as error:
            if not self._failed:
                warn_user(
                    f"no checkpoint: {error} The solve goes on without; the checkpoint is tried again.", AngsyncWarning
                )
            self._failed = True
        self._last = time.monotonic()

    def _is_ours(self, path: Path) -> bool:
        """Whether nobody else has written the file since."""
        if not path.exists() or owner_of(path) in self.owners:
            return True
        self._taken = True
        warn_user(
            f"{path} was written by another solve in the meantime: this one goes on, and writes no further checkpoint. "
            "Give every solve a checkpoint of its own.",
            AngsyncWarning,
        )
        return False

    def close(self, status: Status | None) -> bool:
        """The call ends with this status, or with an error (None): write the last of it, or remove the file.

        True where nothing is left to be done by another call.
        """
        finished = status in (Status.CONVERGED, Status.STALLED)
        if not finished or self.settings.keep:
            self.write()
        elif not self._taken:
            self.settings.remove()
        return finished
