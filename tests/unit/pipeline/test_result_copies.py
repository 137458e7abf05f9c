"""Copies of a result: equal to it, and as frozen."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import angsync as ang


def solved(**options):
    return ang.synchronize(ang.simulate.erdos_renyi(30, 0.2, 0.3, rng=0).measurements, **options)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_is_equal_and_cannot_be_written_to(copied):
    result = solved()
    again = copied(result)
    assert again == result
    assert hash(again) == hash(result)
    for array in (again.z, again.product, again.components):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_results_of_matrices_robust_ones_and_anchored_ones_are_equal_to_their_copies():
    C = ang.simulate.gaussian(12, 0.3, rng=1).C
    for result in (ang.synchronize(C), solved(solver=ang.Robust()), solved(anchors={0: 1.0}), solved(certify=False)):
        assert pickle.loads(pickle.dumps(result)) == result


def test_another_answer_is_not_equal():
    result = solved()
    assert result != dataclasses.replace(result, z=np.conj(result.z))
    assert result != dataclasses.replace(result, certificate=None)
    assert result != "a result"
    assert result != solved(gauge="mean")


def test_certificates_with_witnesses_can_be_compared():
    certificate = dataclasses.replace(solved().certificate, witness=np.ones(30, dtype=complex))
    assert certificate == pickle.loads(pickle.dumps(certificate))
    assert certificate != dataclasses.replace(certificate, witness=-certificate.witness)
    assert hash(certificate) == hash(pickle.loads(pickle.dumps(certificate)))


def test_a_batch_is_equal_to_its_copy():
    stack = np.array([ang.simulate.gaussian(6, 0.3, rng=k).C for k in range(3)])
    result = ang.synchronize(stack)
    assert pickle.loads(pickle.dumps(result)) == result
    assert result != result[:2]
    assert hash(result) == hash(pickle.loads(pickle.dumps(result)))
