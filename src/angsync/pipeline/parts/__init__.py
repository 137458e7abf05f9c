"""One sparse problem in parts: each solved alone, put together, and finished as a whole; what ``Parts`` may say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from angsync.errors import InputError, names_init_keywords

RIM_STEPS = 6  # to each side of a cut whose nodes are solved again


@runtime_checkable
class Client(Protocol):
    """What is asked of a ``distributed.Client``."""

    def submit(self, function: Any, *arguments: Any, **options: Any) -> Any: ...

    def nthreads(self) -> Any: ...


@names_init_keywords
@dataclass(frozen=True)
class Parts:
    """Solve a sparse problem in parts, then as a whole from where they lead.

    The graph is cut into parts, each part is solved alone, the phases between the parts are a small problem of their
    own, the nodes along the cuts are solved again with all others held, and Newton's method goes on from there with
    all of C. The result, and its certificate, are those of the whole problem.

    On one machine this is slower than ``solver="auto"``. It pays where the parts are solved by other machines.

    Parameters
    ----------
    count
        How many parts. Fewer are made of a graph with fewer nodes.
    client
        A ``distributed.Client``, or the address of a scheduler, whose workers solve the parts; None: they are solved
        here, one after another. The result is the same to the bit. A worker that dies costs time, nothing else.

    Examples
    --------
    >>> problem = ang.simulate.grid(12, 12, 0.2, rng=0)
    >>> result = ang.synchronize(problem.measurements, solver=ang.Parts(4))
    >>> result.certificate.verdict.name, bool(ang.distance(result.z, ang.synchronize(problem.measurements).z) < 1e-6)
    ('CERTIFIED', True)
    """

    count: int = 16
    client: Any = None

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, (int, np.integer)) or self.count < 1:
            raise InputError(f"count must be a whole number, 1 or more, but it is {self.count!r}.")
        if self.client is not None and not isinstance(self.client, (Client, str)):
            raise InputError(
                f"client must be a distributed.Client or the address of a scheduler, but it is {self.client!r}."
            )
