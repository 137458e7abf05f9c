r"""Phases of beam position monitors from tables of phase advances, in turns: with error bars, flags and a proof.

A row of a table is the difference of the phases of two monitors. All rows of all tables are one phase synchronization,
with the weights 1/error^2.

>>> from angsync.applications import beam_optics
>>> machine = beam_optics.simulate(40, kind="complete", error=0.002, rng=0)
>>> result = beam_optics.synchronize(machine.tables)
>>> result.is_combined, bool(result.flagged.any()), result.sync.certificate.verdict.name
(True, False, 'CERTIFIED')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.beam_optics.network import (
    Agreement,
    Network,
    agreement,
    network,
    single_chains,
)
from angsync.applications.beam_optics.outliers import solved
from angsync.applications.beam_optics.result import BeamResult, doubts
from angsync.applications.beam_optics.simulated import SimulatedBeam, simulate
from angsync.applications.beam_optics.tables import PhaseTable, read
from angsync.applications.beam_optics.turns import TurnOffsets, turn_offsets, wrapped
from angsync.errors import ErrorBarWarning, InputError, names_keywords, warn_user

__all__ = ["BeamResult", "PhaseTable", "SimulatedBeam", "read", "simulate", "synchronize"]


@names_keywords
def synchronize(
    tables: Any,
    independent: bool = False,
    *,
    reference: str | None = None,
    robust: bool = True,
    turns: bool | Mapping[str, int] = True,
) -> BeamResult:
    """The phase of every monitor that fits all rows of the tables best.

    Parameters
    ----------
    tables
        What :func:`read` gives, of one plane; or a path.
    independent
        Whether several tables are different measurements. Only then are their errors combined, and only where they do
        not agree too well for that: the neighbor and the total phases of one analysis are one measurement written
        twice.
    reference
        The monitor with phase 0; unless given, the one that a total table is against, or the first of the machine.
    robust
        Leave out rows that contradict the others by more than noise of their stated errors explains.
    turns
        Correct monitors that are off by whole turns of the beam, where the distances to the model show them clearly.
        A mapping from names to numbers of turns (``turns`` of the other plane's result) is taken as it is.

    Examples
    --------
    >>> from angsync.applications import beam_optics
    >>> machine = beam_optics.simulate(30, bad=1, bad_sigmas=20, rng=1)
    >>> result = beam_optics.synchronize(machine.tables, independent=True)
    >>> [name for name, flag in zip(result.name, result.flags) if flag] == list(machine.bad)
    True
    """
    if isinstance(tables, PhaseTable):
        tables = (tables,)
    elif not isinstance(tables, Sequence) or isinstance(tables, str):
        tables = read(tables)
    given: tuple[PhaseTable, ...] = read(*tables)
    net = network(given, reference)
    sync, outlier, wrong, doubtful = solved(net, robust)
    fit = agreement(net, sync, outlier)
    notes = _notes(given, net, fit)
    tied = sync.components == sync.components[net.reference]
    combined, why = _may_combine(given, independent, fit)
    notes += why
    error = sync.standard_errors(1.0, gauge=net.reference) / (2 * np.pi) if combined else single_chains(net, outlier)
    raw = np.where(tied, sync.angles / (2 * np.pi) % 1, np.nan)
    model = (net.model - net.model[net.reference]) % 1
    moved, found, said = _turned(net, raw - model, error, turns)
    phase = (raw - moved) % 1
    if outlier.any():
        names = ", ".join(net.name[k] for k in np.flatnonzero(wrong | doubtful)[:10])
        notes.append(f"{int(outlier.sum())} rows contradict the others and were left out; they are about {names}.")
    flags = np.select([~tied, wrong, doubtful, found != 0], ["apart", "outlier", "doubtful", "turn"], "").astype(object)
    return BeamResult(
        name=net.name,
        s=net.place,
        phase=phase,
        standard_error=np.where(tied, error, np.nan),
        model_phase=model,
        delta_phase=wrapped(phase - model),
        flags=flags,
        turns={net.name[k]: int(found[k]) for k in np.flatnonzero(found)},
        plane=net.plane,
        tune=net.tune,
        reference=net.name[net.reference],
        chi_square_per_dof=fit.per_dof,
        degrees_of_freedom=fit.freedom,
        is_combined=combined,
        outlier=outlier,
        notes=tuple(notes + said),
        sync=sync,
    )


def _may_combine(tables: Sequence[PhaseTable], independent: bool, fit: Agreement) -> tuple[bool, list[str]]:
    """Whether the error bars may combine all rows, and what to say if not."""
    if fit.is_too_good:
        several = "tables" if len(tables) > 1 else "rows"
        text = (
            f"The {several} are not independent: they agree far better than their errors allow (chi-square per degree "
            f"of freedom {fit.per_dof:.2g}). Combined error bars are refused; those given are of the best single chain "
            "of rows."
        )
        warn_user(text, ErrorBarWarning)
        return False, [text]
    if len(tables) > 1 and not independent and fit.freedom:
        return False, [
            "The tables are not said to be independent: error bars are of the best single chain of rows. If they are "
            "different measurements, say independent=True (--independent)."
        ]
    return True, []


def _turned(
    net: Network, delta: NDArray[np.float64], error: NDArray[np.float64], turns: bool | Mapping[str, int]
) -> tuple[NDArray[np.float64], NDArray[np.int64], list[str]]:
    """What to subtract from the phases, the turns of the monitors against most, and sentences."""
    nothing = np.zeros(net.n), np.zeros(net.n, dtype=np.int64)
    if turns is False:
        return *nothing, []
    if net.tune is None:
        if turns is not True:
            raise InputError("turns cannot be corrected: no table has the tune in its headers (Q1, Q2).")
        return *nothing, []
    if not isinstance(turns, bool):
        unknown = sorted(set(turns) - set(net.name))
        given = np.array([int(turns.get(name, 0)) for name in net.name])
        said = [f"turns names {len(unknown)} monitors that the tables do not have."] if unknown else []
        return net.tune * (given - given[net.reference]), given, said
    found: TurnOffsets = turn_offsets(delta, error, net.tune, net.reference)
    if not found.is_believed:
        return *nothing, []
    off = int(np.count_nonzero(found.turns))
    said = [
        f"{off} monitors are off by whole turns of the beam, and were corrected: the distance to the model fell from "
        f"{found.rms_before:.3g} to {found.rms_after:.3g} turns rms (chance would leave {found.rms_by_chance:.3g})."
    ]
    return net.tune * (found.turns - found.turns[net.reference]), found.turns, said


def _notes(tables: Sequence[PhaseTable], net: Network, fit: Agreement) -> list[str]:
    left_out = sum(table.left_out for table in tables)
    notes = [f"{left_out} rows have no phase and were left out."] if left_out else []
    notes += [table.assumed for table in tables if table.assumed]
    if net.raised:
        notes.append(
            f"The error of {net.raised} rows was missing, or raised to {net.floor:.2g}: a tenth of the median."
        )
    tunes = [table.tune for table in tables if table.tune is not None]
    if tunes and max(tunes) - min(tunes) > 1e-3:
        notes.append(f"The tables have different tunes, {min(tunes):.4f} to {max(tunes):.4f}: are they of one machine?")
    row = int(np.nanargmax(np.abs(fit.residual) / net.error))
    rows = net.measurements
    worst = f"{net.name[rows.i[row]]} - {net.name[rows.j[row]]}, off by {abs(fit.residual[row]):.3g} turns"
    return notes + doubts(fit.per_dof, fit.freedom, worst)
