"""What a page keeps of its input, versions and settings."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import scipy.sparse

from angsync.problem.measurements import Measurements
from angsync.report.page import render_page
from angsync.report.provenance import input_of

Result = Callable[..., SimpleNamespace]


def test_the_hash_is_that_of_the_numbers() -> None:
    first, same, other = (Measurements([0, 1], [1, 2], angle) for angle in ([0.1, 0.2], [0.1, 0.2], [0.1, 0.3]))
    assert input_of(first) == input_of(same)
    assert input_of(first)["sha256"] != input_of(other)["sha256"]
    assert input_of(np.eye(3))["shape"] == [3, 3]
    assert input_of(scipy.sparse.eye_array(3))["kind"] == "sparse matrix"
    assert input_of(None) == {}


def test_provenance_is_json(result: Result) -> None:
    text = render_page(result(), provenance={"seed": 3, "files": [{"name": "a&b.csv"}]})
    content = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", text, flags=re.DOTALL)[0])
    told = json.loads(content)
    assert told["seed"] == 3
    assert told["files"] == [{"name": "a&b.csv"}]
    assert told["settings"]["gauge"] == "first"
    assert told["versions"]["numpy"] == np.__version__
    assert len(told["input"]["sha256"]) == 64
