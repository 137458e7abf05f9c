"""One row of the table: what was measured, beside what it is compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One method on one problem. A figure that does not apply is None.

    Attributes
    ----------
    problem, method
        In words, as the table shows them.
    n
        Order of C.
    seconds
        Median time of one solve, of one product or, in a stack, of one problem.
    fastest, slowest
        Of the repeats, in the same unit.
    repeats
        Timed calls.
    threads
        BLAS threads that were best for this method, or "as set".
    ratio
        How many times faster than the method named in ``base``.
    proof
        Time of the certificate over the time of the solve.
    excess
        f / best - 1, best over all methods of the problem; in a stack its mean over the problems.
    agrees
        Whether the answer is the one that the others found, as far as they solve the same problem; otherwise None.
    worse
        In a stack: share of the problems that ended more than 1e-4 below the best.
    products
        Products with C.
    limit
        Time of reading the data once over ``seconds``: 1 is the limit of the machine.
    bandwidth
        Bytes a second of that read, measured beside this row.
    exponent
        Of the power law fitted to the rows of a growth.
    note
        What a reader has to know, or why there are no figures.
    """

    group: str
    problem: str
    method: str
    n: int
    seconds: float | None = None
    fastest: float | None = None
    slowest: float | None = None
    repeats: int = 0
    threads: str = ""
    ratio: float | None = None
    base: str = ""
    proof: float | None = None
    excess: float | None = None
    agrees: bool | None = None
    worse: float | None = None
    products: int | None = None
    limit: float | None = None
    bandwidth: float | None = None
    exponent: float | None = None
    note: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON: only what applies."""
        content = {name: value for name, value in vars(self).items() if name != "facts"}
        content = {name: value for name, value in content.items() if value is not None and value != ""}
        if not self.repeats:
            del content["repeats"]
        return content | dict(self.facts)


def disagreements(rows: list[Row]) -> list[str]:
    """Rows whose method solves the same problem as other methods and did not reach the same objective."""
    return [f"{row.group}: {row.problem}: {row.method}" for row in rows if row.agrees is False]
