"""The table of the proof methods: what reads it agrees with it."""

from __future__ import annotations

import subprocess
import sys
import typing

import pytest

import angsync as ang
from angsync.certificate.bounds import METHODS, ProofName, names_in_words
from angsync.report.sentences import proof_in_words


def test_one_list_of_names():
    assert list(typing.get_args(ProofName)) == ["auto", *METHODS]
    assert names_in_words() == "'auto', 'cholesky', 'factorization' or 'lanczos'"


@pytest.mark.parametrize("name", METHODS)
def test_every_method_answers_by_its_name_and_states_its_confidence(name):
    grid = ang.simulate.grid(4, 4, 0.1, rng=0)
    certificate = ang.certify(grid.C, ang.synchronize(grid.C).z, method=name)
    assert certificate.verdict is ang.Verdict.CERTIFIED
    assert certificate.method == name
    assert (certificate.confidence == 1) == METHODS[name].deterministic
    words = proof_in_words(certificate)
    assert words.startswith(METHODS[name].words)
    assert words.endswith("(deterministic)") == METHODS[name].deterministic


def test_the_words_of_every_method():
    assert {name: method.words for name, method in METHODS.items()} == {
        "cholesky": "a Cholesky factorization with its rounding error accounted for",
        "factorization": "a sparse factorization with its rounding error accounted for",
        "lanczos": "a Lanczos bound",
    }


def test_the_names_load_no_numpy():
    code = "import sys, angsync.cli; angsync.cli.app; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
