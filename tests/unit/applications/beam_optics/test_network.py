"""All rows as one set of measurements: errors, references, agreement."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from angsync.applications import beam_optics
from angsync.applications.beam_optics.network import Agreement, network, single_chains
from angsync.errors import InputError

TABLES = beam_optics.simulate(20, rng=0).tables


def test_errors_that_are_missing_or_tiny_are_raised():
    error = TABLES[0].error.copy()
    error[0], error[1] = np.nan, 1e-9
    net = network((dataclasses.replace(TABLES[0], error=error), TABLES[1]), None)
    assert net.raised == 2
    assert net.error[0] == pytest.approx(10 * net.floor)
    assert net.error[1] == net.floor


def test_references():
    assert network(TABLES, None).reference == 0  # that of the total table
    assert network(TABLES, "BPM.0007").reference == 7
    with pytest.raises(InputError, match="no monitor 'X'"):
        network(TABLES, "X")


def test_tables_that_do_not_belong_together_are_refused():
    with pytest.raises(InputError, match="of both planes"):
        network((TABLES[0], dataclasses.replace(TABLES[1], plane="Y")), None)
    other = dict(TABLES[1].model) | {"BPM.0003": 0.9}
    with pytest.raises(InputError, match=r"different models: at BPM\.0003"):
        network((TABLES[0], dataclasses.replace(TABLES[1], model=other)), None)
    with pytest.raises(InputError, match="no row between two monitors"):
        network((dataclasses.replace(TABLES[0], first=(), second=(), phase=np.empty(0), error=np.empty(0)),), None)


def test_too_good_an_agreement_is_seen_at_any_size():
    nothing = np.empty(0)
    assert Agreement(nothing, 1e-9, 500).is_too_good
    assert not Agreement(nothing, 480.0, 500).is_too_good
    assert not Agreement(nothing, 1e-3, 1).is_too_good  # once in forty
    assert not Agreement(nothing, 0.0, 0).is_too_good


def test_single_chains_are_the_best_of_the_rows():
    net = network(TABLES, None)
    found = single_chains(net, np.zeros(38, dtype=bool))
    direct = np.append(0, net.error[19:])
    assert (found <= direct + 1e-12).all()
    step = np.sqrt(found[:-1] ** 2 + net.error[:19] ** 2)
    assert (found[1:] <= step + 1e-12).all()
    assert np.isinf(single_chains(net, np.ones(38, dtype=bool))[1:]).all()
