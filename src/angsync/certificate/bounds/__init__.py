"""Lower bounds on the smallest eigenvalues of S(z): the proof methods by name, one method a file.

A new method takes a file with a function from :class:`~angsync.certificate.bounds.bound.Question` to
:class:`~angsync.certificate.bounds.bound.SpectralBound`, and its name and row here; ``choice`` only where ``auto`` is
to take it. The command line and the words about a result read these tables, so nothing here loads NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from angsync.solvers.memory import MemoryBudget

if TYPE_CHECKING:
    from angsync.certificate.bounds.bound import Question, SpectralBound

ProofName = Literal["auto", "cholesky", "factorization", "lanczos"]
"""What ``angsync.certify(method=...)`` takes."""


@dataclass(frozen=True)
class ProofMethod:
    """One way to prove that S is positive semidefinite on the complement of z."""

    words: str
    """For people: "The proof is ..."."""
    deterministic: bool
    """Whether the bound itself holds with certainty; otherwise it may fail with a stated probability."""
    memory: MemoryBudget
    """What the proof needs beside C and z."""
    bound: Callable[[Question], SpectralBound]


def _cholesky(question: Question) -> SpectralBound:
    from angsync.certificate.bounds.cholesky import by_cholesky

    return by_cholesky(question)


def _factorization(question: Question) -> SpectralBound:
    from angsync.certificate.bounds.factorization import by_factorization

    return by_factorization(question)


def _lanczos(question: Question) -> SpectralBound:
    from angsync.certificate.bounds.lanczos import by_lanczos

    return by_lanczos(question)


METHODS: dict[str, ProofMethod] = {
    "cholesky": ProofMethod(
        words="a Cholesky factorization with its rounding error accounted for",
        deterministic=True,
        memory=MemoryBudget(vectors=16, matrix_copies=2.2),
        bound=_cholesky,
    ),
    "factorization": ProofMethod(
        words="a sparse factorization with its rounding error accounted for",
        deterministic=True,
        memory=MemoryBudget(vectors=30, matrix_copies=2, factor_copies=1.5),
        bound=_factorization,
    ),
    "lanczos": ProofMethod(
        words="a Lanczos bound",
        deterministic=False,
        # one n-vector a step, 400 steps at most, and the first 256 once more while the run makes room
        memory=MemoryBudget(vectors=680),
        bound=_lanczos,
    ),
}
"""By name. Where components were proved by several methods, words about the proof name the first of these."""


def names_in_words() -> str:
    """The names that ``certify`` takes, for its message: 'auto', 'cholesky', ... or 'lanczos'."""
    *names, last = (repr(name) for name in ("auto", *METHODS))
    return f"{', '.join(names)} or {last}"
