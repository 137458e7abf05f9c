"""Data frames of several libraries."""

from __future__ import annotations

import builtins

import numpy as np
import pytest

import angsync as ang
from angsync.errors import InputError, MissingDependencyError
from angsync.problem.frames import data_frame, node_column

MEASUREMENTS = {
    "indices": ang.Measurements([0, 1, 2], [1, 2, 0], [0.1, 0.2, -0.25], weight=[1, 2, 3]),
    "names": ang.Measurements(["a", "b"], ["b", "c"], [0.1, 0.2]),
    "stations": ang.Measurements([7001, 7005], [7005, 8800], [0.1, 0.2]),
    "tuples": ang.Measurements([(0, 1), (1, 1)], [(1, 1), "x"], [0.1, 0.2]),
}


@pytest.mark.parametrize("name", ["indices", "names", "stations"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_measurements_come_back_from_their_data_frame(name, library):
    pytest.importorskip(library)
    pytest.importorskip("narwhals")
    given = MEASUREMENTS[name]
    assert ang.Measurements.from_dataframe(given.to_dataframe(library=library)) == given


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_labels_of_any_kind_go_into_a_frame(library):
    pytest.importorskip(library)
    frame = MEASUREMENTS["tuples"].to_dataframe(library=library)
    assert [str(entry) for entry in frame["j"]] == ["(1, 1)", "x"]


def test_labels_become_a_column():
    assert node_column(None, np.array([2, 0])).tolist() == [2, 0]
    assert node_column((5, 7, 9), np.array([2, 0])).dtype == np.int64
    assert node_column(((1, 2), "b"), np.array([0, 0, 1])).tolist() == [(1, 2), (1, 2), "b"]


def test_what_is_not_installed_is_named(monkeypatch):
    real_import = builtins.__import__

    def bare(name, *rest, **options):
        if name.partition(".")[0] in ("pandas", "polars", "pyarrow"):
            raise ImportError(name)
        return real_import(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", bare)
    columns = {"a": np.arange(3)}
    with pytest.raises(MissingDependencyError, match=r"needs pandas.*angsync\[dataframe\]"):
        data_frame(columns)
    with pytest.raises(InputError, match="pip install polars"):
        data_frame(columns, "polars")
    with pytest.raises(MissingDependencyError, match=r"angsync\[parquet\]"):
        data_frame(columns, "pyarrow")
    with pytest.raises(InputError, match="'pandas', 'polars', 'pyarrow', not 'excel'"):
        data_frame(columns, "excel")
