"""What a checkpoint belongs to: the data and the settings, and in what two of them differ.

The data are known by n, the precision, the row sums of |C| and one product with a fixed vector: a changed entry changes
its two rows. Nothing has to be read again for that (of streamed data both are known from the first read), and sums in
another order, as with other numbers of threads, are still the same data.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import FileFormatError, InputError
from angsync.problem.operators import Operator
from angsync.problem.randomness import fixed_probe

if TYPE_CHECKING:
    from angsync.pipeline.call import Call

# Difference of a row from which it is another one, relative to its row sum or to the length of the whole product. Sums
# are in double precision, whatever the entries have; those of a user's own operator may be in single precision.
_SAME, _SAME_SINGLE = 1e-10, 1e-5
_WORDS = {
    "n": "the number of nodes",
    "precision": "the precision",
    "solver": "solver",
    "start": "start",
    "tolerance": "tolerance",
    "certify": "certify",
    "effort": "effort",
    "rng": "rng (--seed)",
}


def identity_of(operator: Operator, call: Call) -> dict[str, Any]:
    """What a checkpoint of this call belongs to."""
    start, state = call.start_for(operator.n), rng_state(call.seed.generator)
    found: dict[str, Any] = {
        "n": operator.n,
        "precision": operator.dtype.name,
        # without the address of an object that has no words of its own
        "solver": "auto" if call.solver is None else re.sub(r" at 0x[0-9a-fA-F]+", "", repr(call.solver)),
        "start": start if isinstance(start, str) else f"phases {_digest(np.ascontiguousarray(start).tobytes())}",
        "tolerance": call.stopping.tolerance_for(operator.dtype),
        "certify": call.certify,
        "effort": call.effort,
        # None, for any numbers: the state in the file is taken then
        "rng": "any" if call.seed.is_any else _digest(json.dumps(state, sort_keys=True).encode()),
        "rng_state": state if call.seed.is_any else None,
    }
    if operator.is_streamed:
        image = operator.probes().images[0]  # of the same vector
    else:
        image = operator.apply(fixed_probe(operator.n))
    found["image"] = np.asarray(image, dtype=np.complex128)
    sums = operator.abs_row_sums()
    if sums is not None:
        found["rows"] = np.asarray(sums, dtype=np.float64)
    own = operator.is_known_by_products and not operator.is_streamed
    found["same"] = _SAME_SINGLE if own and operator.dtype == np.complex64 else _SAME
    return found


def check_same(path: Path, saved: dict[str, Any], now: dict[str, Any]) -> None:
    """Refuse a checkpoint of other data or other settings, and say which."""
    differ = [
        f"{words} was {saved.get(name)!r} and is {now[name]!r}"
        for name, words in _WORDS.items()
        if name != "rng" and saved.get(name) != now[name]
    ]
    if saved.get("rng") != now["rng"]:
        differ.append(
            f"{_WORDS['rng']} was another one (a Generator is known by where its numbers stand: make it anew from its "
            "seed, or give the seed itself)"
        )
    if saved.get("n") == now["n"] and saved.get("precision") == now["precision"]:
        rows = _rows_apart(saved, now)
        if ("rows" in saved) != ("rows" in now):
            kinds = ("an operator that is known by its products alone", "a matrix whose entries are known")
            before, here = kinds["rows" in saved], kinds["rows" in now]
            differ.append(f"it was made from {before}, and this is {here}")
        elif rows.size:
            named = ", ".join(map(str, rows[:5].tolist())) + (", ..." if rows.size > 5 else "")
            differ.append(f"the entries differ in {rows.size} of {now['n']} rows (of nodes {named}, counted from 0)")
    if differ:
        raise InputError(
            f"the checkpoint {path} belongs to another solve: {'; '.join(differ)}. Give the data and the settings that "
            "it was made with, or remove the file to start anew."
        )


def _rows_apart(saved: dict[str, Any], now: dict[str, Any]) -> NDArray[np.int64]:
    n, same = now["n"], now["same"]
    before, image = saved.get("image"), now["image"]
    if before is None or before.shape != (n,) or ("rows" in saved) != ("rows" in now):
        return np.arange(n)
    with np.errstate(invalid="ignore"):
        size = now["rows"] if "rows" in now else np.full(n, np.linalg.norm(image) if n else 0.0)
        apart = ~(np.abs(before - image) <= same * size)
        if "rows" in now:
            if saved["rows"].shape != (n,):
                return np.arange(n)
            apart |= ~(np.abs(saved["rows"] - now["rows"]) <= same * size)
    return np.flatnonzero(apart)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def rng_state(rng: np.random.Generator) -> Any:
    """Where the random numbers stand, of what JSON can hold."""
    return _plain(rng.bit_generator.state)


def set_rng(rng: np.random.Generator, state: Any) -> None:
    """Let the random numbers go on from there."""
    if not isinstance(state, dict) or state.get("bit_generator") != type(rng.bit_generator).__name__:
        return  # of another kind of generator, whose numbers are as random
    try:
        rng.bit_generator.state = state
    except (TypeError, ValueError, KeyError, OverflowError):
        raise FileFormatError(
            "the checkpoint is damaged: where it says how the random numbers stood, there is nothing of the kind. "
            "Remove the file to start anew."
        ) from None


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    return int(value) if isinstance(value, np.integer) else value
