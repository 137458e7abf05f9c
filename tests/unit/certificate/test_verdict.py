"""The records of a proof: certificates of components put together, rescaled, tightened, and what goes into files."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse

import angsync as ang
from angsync import Verdict
from angsync.certificate import GAP_TOLERANCE
from angsync.certificate.certify import certify_component
from angsync.certificate.verdict import Certificate, combine, interrupted, rescaled, tightened, trivial
from angsync.problem.objective import objective
from angsync.problem.operators import as_operator
from angsync.solvers.stopping import Clock


def path(n):
    return np.eye(n, k=1) + np.eye(n, k=-1)


def test_components_add_up():
    parts = [ang.simulate.gaussian(n, 0.5, rng=n) for n in (5, 8)]
    C = scipy.sparse.block_diag([p.C for p in parts] + [np.zeros((2, 2))], format="csr")
    z = np.concatenate([ang.synchronize(p.C).z for p in parts] + [np.ones(2)])
    whole = ang.certify(C, z)
    singles = [ang.certify(p.C, z[k : k + p.z.size]) for p, k in zip(parts, (0, 5), strict=True)]
    assert whole.verdict is Verdict.CERTIFIED
    assert whole.unique
    assert whole.lambda_2 == pytest.approx(min(c.lambda_2 for c in singles), rel=1e-9)
    assert whole.gap_bound == pytest.approx(sum(c.gap_bound for c in singles), rel=0.5)
    spoiled = z.copy()
    spoiled[:5] *= np.exp(0.3j * np.arange(5))
    refuted = ang.certify(C, spoiled)
    assert refuted.verdict is Verdict.REFUTED
    assert objective(C, refuted.witness) > objective(C, spoiled)
    assert np.abs(refuted.witness[5:] - spoiled[5:]).max() < 1e-15


def test_trivial_problems():
    single = ang.certify([[5.0]], [1j])
    assert (single.verdict, single.gap_bound, single.unique, single.lambda_2) == (
        Verdict.CERTIFIED,
        0.0,
        True,
        math.inf,
    )
    nothing = ang.certify(np.zeros((3, 3)), np.ones(3))
    assert (nothing.verdict, nothing.gap_bound, nothing.unique) == (Verdict.UNDECIDED, 0.0, False)
    assert nothing.method == "trivial"


def test_it_prints_as_one_line():
    text = str(ang.certify(path(5), np.ones(5)))
    assert text.startswith("CERTIFIED")
    assert "\n" not in text


def test_components_of_very_different_scale_are_each_proved():
    small, large = ang.simulate.gaussian(6, 0.3, rng=0).C * 1e-170, ang.simulate.gaussian(6, 0.3, rng=1).C
    C = scipy.sparse.block_diag([large, small], format="csr")
    with pytest.warns(ang.errors.DisconnectedWarning):
        result = ang.synchronize(C)
    assert ang.certify(small, result.z[6:]).verdict is Verdict.CERTIFIED
    assert ang.certify(large, result.z[:6]).verdict is Verdict.CERTIFIED
    assert result.certificate.unique


def test_confidence_of_several_components_is_that_of_the_union():
    parts = [ang.simulate.gaussian(8, 0.3, rng=k).C for k in range(3)]
    z = np.concatenate([ang.synchronize(p).z for p in parts])
    certificate = ang.certify(scipy.sparse.block_diag(parts, format="csr"), z, method="lanczos")
    assert 1 - certificate.confidence == pytest.approx(3e-10, rel=1e-3)


def test_a_refuted_component_is_not_hidden_by_a_heavy_one():
    # a twisted ring, which can be bettered by 3.2, beside a pair of weight 1e9: relative to the whole the gap is small
    n = 30
    i = np.concatenate([np.arange(n), [n]])
    j = np.concatenate([(np.arange(n) + 1) % n, [n + 1]])
    measurements = ang.Measurements(i, j, np.zeros(n + 1), np.concatenate([np.ones(n), [1e9]]))
    twisted = np.concatenate([np.exp(2j * np.pi * np.arange(n) / n), [1, 1]])
    certificate = ang.certify(measurements, twisted)
    assert certificate.verdict is Verdict.REFUTED
    assert objective(measurements.to_sparse(), certificate.witness) > 2e9 + 2 * n - 1


def test_numbers_are_all_fields_but_for_the_verdict_and_the_witness():
    certificate = ang.certify(path(5), np.ones(5))
    numbers = certificate.numbers()
    assert list(numbers) == [
        "gap_bound", "relative_gap", "lambda_min", "lambda_2", "unique", "method", "confidence", "tolerance", "scale",
        "rounding", "untried", "undecided_nodes",
    ]  # fmt: skip
    assert Certificate(verdict=certificate.verdict, witness=None, **numbers) == certificate


def test_a_record_says_whether_a_proof_was_interrupted_or_out_of_time():
    proved = ang.certify(path(5), np.ones(5))
    late = ang.certify(path(5), np.exp(1j * np.arange(5)), max_seconds=0.0)
    assert [(c.interrupted, c.out_of_time) for c in (proved, late, interrupted())] == [
        (False, False),
        (False, True),
        (True, False),
    ]
    assert (late.method, interrupted().method) == ("out of time", "interrupted")
    assert interrupted().verdict is Verdict.UNDECIDED
    assert interrupted().gap_bound == math.inf


def test_rescaling_beyond_the_numbers_gives_infinities():
    certificate = ang.certify(path(5), np.ones(5))
    assert rescaled(certificate, 3).gap_bound == 8 * certificate.gap_bound
    assert rescaled(certificate, 3).relative_gap == certificate.relative_gap
    assert rescaled(certificate, 3000).lambda_2 == math.inf
    assert rescaled(trivial(GAP_TOLERANCE, unique=True), -3000).lambda_2 == math.inf


def test_a_bound_from_elsewhere_tightens_a_certificate_or_leaves_it_alone():
    # three phases of a path, one of them off: the optimum is 4
    z = np.exp([0, 1e-3j, 0])
    loose = ang.certify(path(3), z, max_seconds=0.0)
    value = objective(path(3), z)
    assert tightened(loose, value, value + 2 * loose.gap_bound) is loose
    tight = tightened(loose, value, value)
    assert tight.verdict is Verdict.CERTIFIED
    assert tight.gap_bound == loose.rounding
    assert tight.method == "misfit+relaxation"
    assert not tight.unique


def test_the_tolerance_and_the_names_of_the_proofs_load_no_numpy():
    # the command line reads them when it lists its options
    code = "import sys, angsync.certificate.bounds; angsync.certificate.GAP_TOLERANCE; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("exponent", [-1030, -1050, -1060, -1070, -1074])
def test_bounds_below_the_normal_numbers_are_rounded_outwards(exponent):
    # f* - f(z) in units of the smallest number, for z = (0, t, -t) of three nodes: 6 - 4 cos t - 2 cos 2t
    C = np.ldexp(np.ones((3, 3)) - np.eye(3), exponent)
    for t in (1e-3, 1e-2, 0.3):
        certificate = ang.certify(C, np.exp(1j * t * np.array([0, 1, -1])))
        true = 8 * np.sin(t / 2) ** 2 + 4 * np.sin(t) ** 2
        assert certificate.verdict is Verdict.REFUTED
        assert math.ldexp(certificate.gap_bound, 1000) >= math.ldexp(true, exponent + 1000)
        assert certificate.rounding > 0
        assert certificate.lambda_min < 0
        assert math.ldexp(certificate.lambda_2, 1000) <= math.ldexp(3 * np.cos(t), exponent + 1000)
    answer = ang.synchronize(C).certificate
    assert answer.verdict is Verdict.CERTIFIED
    assert answer.gap_bound > 0


def test_a_certified_point_is_never_said_to_be_out_of_time():
    """Exact data: the misfit proves the point without any look at S(z), and there is no time for one."""
    z = np.exp(1j * np.arange(30.0))
    C = np.outer(z, z.conj()) - np.eye(30)
    at = {"tolerance": GAP_TOLERANCE, "method": "auto", "clock": Clock(0.0), "rng": np.random.default_rng(0)}
    proved = certify_component(as_operator(C), z, **at)
    assert proved.verdict is Verdict.CERTIFIED
    assert not proved.out_of_time
    assert proved.method == "misfit"
    # a small part that had no time, beside a large one that is proved: together they are certified
    off = certify_component(as_operator(1e-14 * C), z * np.exp(1e-3j * np.arange(30)), **at)
    assert off.out_of_time
    index = [np.arange(30), np.arange(30, 60)]
    both = combine([proved, off], index, np.concatenate([z, z]), GAP_TOLERANCE)
    assert both.verdict is Verdict.CERTIFIED
    assert both.method == "misfit"
    assert tightened(off, 0.0, -1.0).method == "misfit+relaxation"
