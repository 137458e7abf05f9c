"""Errors are also built-in ones, and a warning points at the line that called the package from outside."""

from __future__ import annotations

import pickle
import types
import warnings

import pytest

import angsync as ang
from angsync import errors
from angsync.errors import (
    AngsyncWarning,
    ConvergenceError,
    InputError,
    MissingDependencyError,
    warn_user,
)

OUTER = """
def outer():
    inner()  # line 3
"""
INNER = """
def inner():
    helper()


def helper():
    warn_user("said", AngsyncWarning)
"""


def made(name, source, **names):
    """A module of this name whose functions know ``names``."""
    module = types.ModuleType(name)
    vars(module).update(names)
    exec(compile(source, f"<{name}>", "exec"), vars(module))
    return module


def caught(function):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function()
    (warning,) = seen
    return warning


def called_through(inner, outer):
    """Where a warning points that a module called ``inner`` gives when one called ``outer`` calls it."""
    library = made(inner, INNER, warn_user=warn_user, AngsyncWarning=AngsyncWarning)
    return caught(made(outer, OUTER, inner=library.inner).outer)


@pytest.mark.parametrize("inner", ["angsync", "angsync.pipeline.plain"])
@pytest.mark.parametrize("outer", ["user", "angsync_plots", "angsyncer", "my.angsync.tools", "__main__"])
def test_a_warning_points_outside_the_package(inner, outer):
    warning = called_through(inner, outer)
    assert (warning.filename, warning.lineno) == (f"<{outer}>", 3)
    assert str(warning.message) == "said"
    assert warning.category is AngsyncWarning


def test_the_whole_way_through_the_package_is_passed():
    library = made("angsync.deep", INNER, warn_user=warn_user, AngsyncWarning=AngsyncWarning)
    front = made("angsync.front", OUTER, inner=library.inner)
    warning = caught(made("user", OUTER, inner=front.outer).outer)
    assert (warning.filename, warning.lineno) == ("<user>", 3)


def test_a_module_of_ones_own_that_begins_with_the_name_is_outside():
    warning = called_through("angsync_plots", "user")
    assert (warning.filename, warning.lineno) == ("<angsync_plots>", 7)


def test_a_program_that_is_all_ours_is_pointed_at_where_it_began():
    code = "from angsync.errors import *\nfrom angsync.errors import warn_user\nwarn_user('said', AngsyncWarning)\n"
    warning = caught(lambda: exec(compile(code, "<ours>", "exec"), {"__name__": "angsync.__main__"}))
    assert warning.filename == __file__  # the line above, which is the first one outside


def test_code_without_a_name_is_outside():
    code = "from angsync.errors import AngsyncWarning, warn_user\nwarn_user('said', AngsyncWarning)\n"
    warning = caught(lambda: exec(compile(code, "<nameless>", "exec"), {"__builtins__": __builtins__}))
    assert warning.filename == "<nameless>"


def test_one_family_of_errors_that_are_also_built_in_ones():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and kind.__module__ == errors.__name__]
    for kind in kinds:
        if not kind.__name__.startswith("_"):
            assert issubclass(kind, (errors.AngsyncError, AngsyncWarning)), kind
    assert issubclass(InputError, ValueError)
    for kind in (errors.ShapeError, errors.NotFiniteError, errors.NotHermitianError, errors.FileFormatError):
        assert issubclass(kind, InputError)
    assert issubclass(ConvergenceError, RuntimeError)
    assert ConvergenceError("late", 3).result == 3


def test_a_remedy_has_one_text_for_python_and_one_for_the_command_line():
    error = pickle.loads(pickle.dumps(InputError("No unit.", python="Pass unit=.", command="Add --unit.")))
    assert (str(error), error.on_command_line) == ("No unit. Pass unit=.", "No unit. Add --unit.")
    assert InputError("plain").on_command_line == "plain"
    with pytest.warns(AngsyncWarning, match="Pass unit") as seen:
        warn_user("No unit.", AngsyncWarning, python="Pass unit=.", command="Add --unit.")
    assert seen[0].message.on_command_line == "No unit. Add --unit."


def test_a_missing_library_names_what_installs_it():
    error = MissingDependencyError("h5py", "hdf5", "Reading HDF5")
    assert isinstance(error, ImportError)
    assert str(error) == "Reading HDF5 needs h5py: pip install 'angsync[hdf5]'"


def test_code_without_a_name_gets_its_result():
    # Python itself drops warnings for code whose __name__ is None
    names = {"ang": ang, "pieces": ang.Measurements([0, 2], [1, 3], [0.1, 0.2]), "__name__": None}
    exec("found = ang.synchronize(pieces)", names)
    assert names["found"].converged
