"""Strict JSON, which every program can read: numbers that are not finite become null.

Results that must come back unchanged are packed by :mod:`angsync.io.result_file` instead.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np

from angsync.io.atomic import atomic_open


def cleaned(content: Any) -> Any:
    """``content`` in JSON's types: NumPy's arrays and scalars too; keys and whatever else there is become text."""
    if isinstance(content, (np.ndarray, np.generic)):
        content = content.tolist()
    if isinstance(content, dict):
        return {str(key): cleaned(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [cleaned(value) for value in content]
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    return content if isinstance(content, (str, int, bool, type(None))) else str(content)


def to_json(content: Any) -> str:
    """One line of JSON."""
    return json.dumps(cleaned(content), allow_nan=False)


def write_json(content: Any, path: str | os.PathLike[str]) -> None:
    """A file of JSON that people can read too, written whole or not at all."""
    with atomic_open(path) as stream:
        json.dump(cleaned(content), stream, allow_nan=False, indent=1)
        stream.write("\n")
