"""Rows that contradict the others."""

from __future__ import annotations

import numpy as np
import pytest

from angsync.applications import beam_optics
from angsync.applications.beam_optics.network import network
from angsync.applications.beam_optics.outliers import _limit, _predicted, solved
from angsync.errors import CorruptionWarning


def test_planted_monitors_are_flagged_and_no_others():
    """Rows off by 20 standard errors: with errors that differ by a factor of four at most, a row keeps at least a tenth
    of its variance in its residual (seen: 0.12), so it stands out by 20 * 0.33 > 5 standard deviations."""
    for seed in range(5):
        machine = beam_optics.simulate(150, bad=5, bad_sigmas=20, rng=seed)
        result = beam_optics.synchronize(machine.tables, independent=True)
        flagged = {name for name, flag in zip(result.name, result.flags, strict=True) if flag == "outlier"}
        assert flagged == set(machine.bad)
        assert result.outlier.sum() == 5
        assert "5 rows contradict the others and were left out" in str(result)


def test_good_tables_have_no_flags():
    """A false flag once in a thousand tables: in 20 of them with a probability of 2 %."""
    for seed in range(20):
        machine = beam_optics.simulate(100, rng=100 + seed)
        assert not beam_optics.synchronize(machine.tables, independent=True).flagged.any()


def test_a_complete_table_shows_single_wrong_rows():
    machine = beam_optics.simulate(30, kind="complete", bad=3, bad_sigmas=12, rng=1)
    result = beam_optics.synchronize(machine.tables)
    assert result.outlier.sum() == 3


def test_nothing_is_left_out_without_robust():
    net = network(beam_optics.simulate(60, bad=3, bad_sigmas=30, rng=0).tables, None)
    assert not solved(net, robust=False).outlier.any()
    assert solved(net, robust=True).outlier.sum() == 3


@pytest.mark.filterwarnings("ignore::angsync.errors.DisconnectedWarning")
def test_rows_that_agree_in_the_end_are_taken_back():
    """With many wrong rows a good one may be put out for what its neighbors did."""
    for seed in range(100, 115):
        net = network(beam_optics.simulate(200, bad=30, bad_sigmas=15, rng=seed).tables, None)
        found = solved(net, robust=True)
        assert (_predicted(net, found.sync, found.outlier)[found.outlier] > _limit(398)).all()


def test_where_nobody_can_tell_all_rows_are_used():
    machine = beam_optics.simulate(40, rng=2)
    rng = np.random.default_rng(0)
    import dataclasses

    noise = dataclasses.replace(machine.tables[1], phase=rng.uniform(0, 1, 39))
    with pytest.warns(CorruptionWarning, match="nobody can tell"):
        result = beam_optics.synchronize((machine.tables[0], noise), independent=True)
    assert not result.outlier.any()
    assert "The rows contradict each other beyond their errors" in str(result)
