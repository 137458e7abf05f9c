"""Seeds. Every random number comes from a generator that the caller can name; there is no global state. Probes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError


def random_generator(rng: Any) -> np.random.Generator:
    """A generator from None (fresh entropy), a seed (whole number, 0 or more), or a Generator, used as it is."""
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise InputError(
            f"rng must be None, a whole number (0 or more) or a numpy Generator, but it is {rng!r}."
        ) from None


def fixed_probe(n: int) -> NDArray[np.complex128]:
    """The vector whose product is taken when data are read for the first time."""
    return np.random.default_rng(0).standard_normal(n).astype(np.complex128)


_OWN = 0x616E6773796E63  # "angsync": names the streams that proofs draw from


def proof_generator(rng: np.random.Generator) -> np.random.Generator:
    """A stream of its own for the random start of a proof, which follows from the caller's.

    A proof with a stated probability of failure holds for data that have nothing to do with its start. Data are often
    made with the very seed that the call has, 0: a start drawn from that stream could be one of the vectors that they
    are made of, and what is orthogonal to it would never be seen.
    """
    words = rng.integers(2**63, size=2).tolist()
    return np.random.default_rng(np.random.SeedSequence(words, spawn_key=(_OWN,)))


_KEPT_UP_TO_NODES = 5000  # probes of smaller problems stay for the next one: to make them takes as long as a product


class Probes(NamedTuple):
    """Two random vectors and their products with C: the first is real, the second complex, entries of variance 1."""

    vectors: NDArray
    images: Sequence[NDArray]


def random_probes(apply: Callable[[NDArray], NDArray], n: int, dtype: np.dtype[Any]) -> Probes:
    """The probes of C; the vectors are the same for every C of this order: the same input gives the same bits."""
    kind = np.result_type(dtype, np.complex64)
    vectors = _kept_vectors(n, kind) if n <= _KEPT_UP_TO_NODES else _probe_vectors(n, kind)
    return Probes(vectors, [apply(v.copy()) for v in vectors])


def _probe_vectors(n: int, dtype: np.dtype[Any]) -> NDArray:
    # proofs start at the second one: see proof_generator
    parts = np.random.default_rng(np.random.SeedSequence(0, spawn_key=(_OWN,))).standard_normal((3, n))
    vectors = np.stack([parts[0] + 0j, (parts[1] + 1j * parts[2]) * math.sqrt(0.5)]).astype(dtype)
    vectors.flags.writeable = False
    return vectors


_kept_vectors = lru_cache(maxsize=2)(_probe_vectors)
