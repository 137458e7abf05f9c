"""Compiled or NumPy: decided in one place, said in words, and the package works without the compiled kernels."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import angsync as ang
from angsync import kernels
from angsync.kernels.batch import reference as batch_reference
from angsync.kernels.dense import reference as dense_reference
from angsync.kernels.sparse import reference as sparse_reference

try:
    from angsync.kernels.library import NAME
except ImportError:
    NAME = "NumPy"


SOLVE = """
import json
import numpy as np
import angsync as ang
from angsync import kernels
grid = ang.simulate.grid(15, 15, 0.4, rng=0)
result = ang.synchronize(grid.C)
other = ang.synchronize(grid.C, start="multilevel", solver=ang.Newton(preconditioner="multigrid"))
print(json.dumps([kernels.name, result.objective, other.objective, result.certificate.verdict.name,
                  np.angle(result.z).tolist()]))
"""


def test_the_package_works_without_the_compiled_kernels():
    answers = {}
    for kind in ("numpy", "compiled"):
        environment = {**os.environ, "ANGSYNC_KERNELS": kind, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", SOLVE], env=environment, capture_output=True, text=True, check=True
        )
        answers[kind] = json.loads(done.stdout)
    assert answers["numpy"][0] == "NumPy"
    assert answers["compiled"][0] == NAME
    for name, objective, other, verdict, angles in answers.values():
        assert verdict == "CERTIFIED", name
        assert other == pytest.approx(objective, rel=1e-12)
        assert objective == pytest.approx(answers["numpy"][1], rel=1e-13)
        assert ang.distance(np.exp(1j * np.array(angles)), np.exp(1j * np.array(answers["numpy"][4]))) < 1e-6


@pytest.fixture
def package(tmp_path):
    """A copy of the package, by links, whose compiled extension may be broken."""
    source = Path(ang.__file__).parent
    place = tmp_path / "angsync"
    (place / "kernels").mkdir(parents=True)
    for path in (*source.iterdir(), *(source / "kernels").iterdir()):
        if path.name != "kernels" and not path.name.startswith("_native"):
            (place / path.relative_to(source)).symlink_to(path)
    return place


def described(package):
    code = """
import angsync as ang
from angsync import kernels
assert ang.synchronize([[0, 1j], [-1j, 0]]).objective == 2
print(kernels.description())
"""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "ANGSYNC_KERNELS": ""}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_kernels_absent_says_not_built(package):
    assert "were not built when angsync was installed" in described(package)


@pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")
@pytest.mark.parametrize("share", [0, 1e-5, 0.01, 0.3, 0.999])
def test_kernels_cut_off_fall_back_to_numpy(package, share):
    whole = next(Path(kernels.__file__).parent.glob("_native*")).read_bytes()
    name = f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    (package / "kernels" / name).write_bytes(whole[: int(share * len(whole))])
    assert "cannot be loaded" in described(package)


def test_kernels_without_symbols_fall_back_to_numpy(package):
    compiler = shutil.which("cc")
    headers = Path(sysconfig.get_path("include"))
    if compiler is None or not (headers / "Python.h").is_file():
        pytest.skip("no C compiler")
    target = package / "kernels" / f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"
    source = Path(kernels.__file__).with_name("library.c")
    options = ["-shared", "-fPIC", "-fvisibility=hidden", "-DMODULE=_native", "-I", str(headers), "-o", str(target)]
    subprocess.run([compiler, *options, str(source)], check=True)
    assert "angsync_abi" in described(package)


def test_the_kernels_say_what_they_are():
    assert kernels.name == (NAME if kernels.COMPILED else "NumPy")
    assert (kernels.apply is sparse_reference.apply) is not kernels.COMPILED
    assert (kernels.dense_apply is dense_reference.dense_apply) is not kernels.COMPILED
    assert (kernels.batch_kernels() is batch_reference) or kernels.COMPILED
    assert kernels.description().startswith(kernels.name)


@pytest.mark.skipif(not kernels.COMPILED, reason="the compiled kernels are not in use")
def test_stacks_without_compiled_kernels_are_told_of(monkeypatch):
    monkeypatch.setattr(kernels, "batch_kernels", lambda: batch_reference)  # as where the compiler has no vectors
    assert kernels.description().endswith(", stacks: NumPy")


def loaded(kind):
    code = "import sys, json; import angsync.kernels; print(json.dumps([m for m in sys.modules if 'angsync' in m]))"
    environment = {**os.environ, "ANGSYNC_KERNELS": kind}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout))


def test_kernels_that_are_not_in_use_are_not_loaded():
    numpy, either = loaded("numpy"), loaded("")
    for modules in (numpy, either):
        assert not [name for name in modules if name.startswith(("angsync.kernels.batch.", "angsync.kernels.cuda."))]
    assert not [name for name in numpy if name.endswith(("compiled", "library", "_native", "source"))]
    assert not [name for name in either if name.endswith(("compiled", ".reference"))]


def test_an_unknown_kernel_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'no_such_kernel'"):
        kernels.no_such_kernel  # noqa: B018


def test_what_only_compiled_kernels_do_is_not_done_without_them():
    C = np.eye(500, dtype=complex)
    assert dense_reference.dense_inspect(C) is None
    with pytest.raises(NotImplementedError, match="narrow copy"):
        dense_reference.narrow_apply(None, C[0])
