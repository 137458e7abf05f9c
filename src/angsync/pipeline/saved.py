"""A result as the fields of a file, and back."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from angsync.certificate.verdict import Certificate, Verdict
from angsync.errors import FileFormatError, InputError, names_keywords
from angsync.io.failures import quoted, reading
from angsync.io.result_file import load_fields
from angsync.pipeline.result import SyncResult
from angsync.pipeline.robust.report import Rival, RobustReport
from angsync.pipeline.tried_starts import Starts
from angsync.problem.nodes import find_node
from angsync.solvers.stopping import History, Status

# fields of the result that are saved under their own names
_NUMBERS = ("objective", "residual", "seconds", "tolerance")
_COUNTS, _TEXTS = ("iterations", "matvecs"), ("message", "method")
_SCALARS = (*_NUMBERS, *_COUNTS, *_TEXTS, "gauge")
_KNOWN = {"anchors": ("angle",), "priors": ("angle", "weight")}

_Member = TypeVar("_Member", bound=Enum)


def fields_of(result: SyncResult) -> dict[str, Any]:
    """What is saved, by the names in the file."""
    fields: dict[str, Any] = {name: getattr(result, name) for name in _SCALARS}
    fields.update(z=result.phases, components=result.components, labels=result.labels, status=result.status.name)
    for name in ("objective", "residual", "step"):
        fields[f"history_{name}"] = getattr(result.history, name)
    certificate = result.certificate
    if certificate is not None:
        fields["certificate"] = {**certificate.numbers(), "verdict": certificate.verdict.name}
        if certificate.witness is not None:
            fields["witness"] = certificate.witness
    if result.robust is not None:
        fields["robust"] = result.robust.fields()
    if result.starts is not None:
        fields["starts"] = {"objectives": result.starts.objectives, "tolerance": result.starts.tolerance}
    for name, known in (("anchors", result.anchors), ("priors", result.priors)):
        if known is not None:
            fields[name] = _by_index(known, result, _KNOWN[name])
    return fields


def _by_index(known: Mapping[Any, Any], result: SyncResult, columns: tuple[str, ...]) -> dict[str, Any]:
    """Anchors or priors as columns: labels may change their type in a file, indices do not."""
    table = np.array([np.atleast_1d(values) for values in known.values()], dtype=float).reshape(-1, len(columns))
    nodes = np.array([find_node(node, result.n, result.labels) for node in known], dtype=np.int64)
    return {"node": nodes, **{name: table[:, k] for k, name in enumerate(columns)}}


@names_keywords
def load_result(path: str | os.PathLike[str]) -> SyncResult:
    """Read a file written by :meth:`SyncResult.save`.

    The problem itself is not in the file: residuals and standard errors need it and are not available. Only npz files
    hold a whole result; :func:`angsync.io.read_phases` also reads the phases of a csv table.

    Examples
    --------
    >>> ang.synchronize(ang.Measurements(["a", "b"], ["b", "c"], [0.1, 0.2])).save("result.npz")
    >>> again = ang.load_result("result.npz")
    >>> again.labels, again.angles.round(3)
    (('a', 'b', 'c'), array([ 0. , -0.1, -0.3]))
    """
    fields = load_fields(path)
    missing = [name for name in _SCALARS if name not in fields]
    if missing:
        raise FileFormatError(
            f"{path} holds phases but is not a complete result ({missing[0]} is missing). angsync.io.read_phases reads "
            "the phases alone."
        )
    with reading(Path(path), "a saved result"):
        return _result(_Fields(fields))


def _result(fields: _Fields) -> SyncResult:
    z = fields.array("z", "c")
    if z.ndim != 1 or z.size == 0:
        raise InputError(f"z has the shape {z.shape}, but one phase a node is needed. The file is damaged.")
    n = z.size
    components = fields.array("components", "iu", n) if fields.has("components") else np.zeros(n, dtype=np.int64)
    if components.min() < 0 or components.max() >= n:
        raise InputError(f"components are numbered from 0 to {n - 1} at most. The file is damaged.")
    labels = fields.content.get("labels")
    if labels is not None and len(labels) != n:
        raise InputError(f"there are {len(labels)} labels for {n} nodes. The file is damaged.")
    gauge = fields.content["gauge"]
    if not isinstance(gauge, str | int):
        raise InputError(f"the gauge is {quoted(gauge)}. The file is damaged.")
    history = {
        name: fields.array(f"history_{name}", "f") if fields.has(f"history_{name}") else np.empty(0)
        for name in ("objective", "residual", "step")
    }
    scalars: dict[str, Any] = {
        **{name: fields.number(name) for name in _NUMBERS},
        **{name: fields.count(name) for name in _COUNTS},
        **{name: fields.text(name) for name in _TEXTS},
        **{name: _known(fields.inside(name), columns, labels, n) for name, columns in _KNOWN.items()},
    }
    return SyncResult(
        z=z,
        status=fields.member("status", Status) if fields.has("status") else Status.CONVERGED,
        history=History(**history),
        certificate=_certificate(fields, n),
        robust=_robust(fields.inside("robust")),
        starts=_starts(fields.inside("starts")),
        components=components.astype(np.int64),
        labels=None if labels is None else tuple(labels),
        gauge=gauge,
        **scalars,
    )


def _certificate(fields: _Fields, n: int) -> Certificate | None:
    inside = fields.inside("certificate")
    if inside is None:
        return None
    witness = fields.array("witness", "c", n) if fields.has("witness") else None
    named: dict[str, Any] = {"verdict": inside.member("verdict", Verdict), "witness": witness}
    for field in dataclasses.fields(Certificate):
        if field.name not in named and (inside.has(field.name) or field.default is dataclasses.MISSING):
            asks: dict[str, Callable[[str], Any]] = {
                "bool": inside.flag, "str": inside.text, "tuple[int, ...]": partial(inside.nodes, n)
            }  # fmt: skip
            named[field.name] = asks.get(str(field.type), inside.number)(field.name)
    return Certificate(**named)


def _robust(inside: _Fields | None) -> RobustReport | None:
    if inside is None:
        return None
    weights = inside.array("weights", "f")
    named: dict[str, Any] = {
        "weights": weights,
        "corruption": inside.array("corruption", "f", weights.size),
        "distrusted": inside.array("distrusted", "b", weights.size),
    }
    for name, kind in (("undecided", "b"), ("trusted", "b"), ("rounding", "f")):
        if inside.has(name):
            column = inside.array(name, kind)
            named[name] = column if column.size == weights.size else column[:0]
    if inside.has("rivals"):
        table = inside.array("rivals", "f")
        named["rivals"] = tuple(Rival(a, b, int(c)) for a, b, c in table.reshape(-1, 3).tolist())
    if inside.content.get("credible") == "not judged":
        named["credible"] = None
    for field in dataclasses.fields(RobustReport):
        if field.name not in named and (inside.has(field.name) or field.default is dataclasses.MISSING):
            ask = {"bool | None": inside.flag, "bool": inside.flag, "str": inside.text}.get(
                str(field.type), inside.number
            )
            named[field.name] = ask(field.name)
    return RobustReport(**named)


def _starts(inside: _Fields | None) -> Starts | None:
    if inside is None:
        return None
    objectives = inside.content.get("objectives")
    if not isinstance(objectives, list) or not objectives or not all(isinstance(x, int | float) for x in objectives):
        raise InputError("starts holds no list of objectives. The file is damaged.")
    return Starts(tuple(map(float, objectives)), inside.number("tolerance"))


def _known(inside: _Fields | None, columns: tuple[str, ...], labels: Any, n: int) -> dict[Any, Any] | None:
    if inside is None:
        return None
    nodes = inside.array("node", "iu")
    if nodes.size and (nodes.min() < 0 or nodes.max() >= n):
        raise InputError(f"an anchor or a prior names a node beyond the {n} there are. The file is damaged.")
    table = np.stack([inside.array(name, "f", nodes.size) for name in columns], axis=1).tolist()
    names = [k if labels is None else labels[k] for k in nodes.tolist()]
    return {name: row[0] if len(columns) == 1 else tuple(row) for name, row in zip(names, table, strict=True)}


class _Fields:
    """Fields of a file, asked for by name and kind: what is missing or of another kind is one error."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content

    def has(self, name: str) -> bool:
        return self.content.get(name) is not None

    def _of_kind(self, name: str, kinds: type | tuple[type, ...], words: str) -> Any:
        value = self.content.get(name)
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise InputError(f"{name} is {quoted(value)}, but {words} is needed. The file is damaged.")
        return value

    def number(self, name: str) -> float:
        return float(self._of_kind(name, (int, float), "a number"))

    def count(self, name: str) -> int:
        return int(self._of_kind(name, int, "a whole number"))

    def nodes(self, n: int, name: str) -> tuple[int, ...]:
        found = self._of_kind(name, list, "a list of nodes")
        if not set(found) <= set(range(n)):
            raise InputError(f"{name} names a node beyond the {n} there are. The file is damaged.")
        return tuple(found)

    def text(self, name: str) -> str:
        return str(self._of_kind(name, str, "a text"))

    def flag(self, name: str) -> bool:
        return bool(self._of_kind(name, bool, "true or false"))

    def member(self, name: str, names: type[_Member]) -> _Member:
        text = self.text(name)
        if text not in names.__members__:
            raise InputError(f"{name} is {quoted(text)}, which means nothing here. The file is damaged, or too new.")
        return names[text]

    def array(self, name: str, kinds: str, size: int | None = None) -> NDArray:
        array = self._of_kind(name, np.ndarray, "an array")
        if array.dtype.kind not in kinds or (size is not None and array.shape != (size,)):
            raise InputError(f"{name} is an array of {array.dtype} with the shape {array.shape}. The file is damaged.")
        return array

    def inside(self, name: str) -> _Fields | None:
        return _Fields(self._of_kind(name, Mapping, "a group of fields")) if self.has(name) else None
