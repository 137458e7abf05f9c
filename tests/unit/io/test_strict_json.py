"""Strict JSON: what every program reads."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from angsync.io.strict_json import cleaned, to_json, write_json


def test_json_is_strict():
    text = to_json({"a": np.float64("nan"), "b": [np.inf, 1.5], "c": np.int64(3), "d": np.bool_(True), 4: (None, "x")})

    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    assert json.loads(text, parse_constant=refuse) == {"a": None, "b": [None, 1.5], "c": 3, "d": True, "4": [None, "x"]}


def test_what_is_not_finite_becomes_null_and_what_json_has_no_word_for_becomes_text():
    assert cleaned([math.nan, np.float64(2), {"a": math.inf}]) == [None, 2.0, {"a": None}]
    assert cleaned(1 + 2j) == "(1+2j)"


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "content.json"
    write_json({"a": [math.inf]}, path)
    assert path.read_text() == '{\n "a": [\n  null\n ]\n}\n'

    class Broken(dict):
        def items(self):
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_json(Broken(), tmp_path / "other.json")
    assert [entry.name for entry in tmp_path.iterdir()] == ["content.json"]
