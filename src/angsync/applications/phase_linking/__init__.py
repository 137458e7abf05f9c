r"""InSAR phase linking: one phase a date from all pairs of dates of a stack of radar images, with error bars and proof.

The looks of a pixel (those of its window) give a coherence matrix of all dates; the phases that maximize the likelihood
of those looks are a phase synchronization problem with :math:`C = -|\hat\Gamma|^{-1} \circ \hat\Gamma`, one small
problem a pixel.

>>> from angsync.applications import phase_linking
>>> truth = phase_linking.simulate(8, (12, 12), gamma_inf=0.6)
>>> linked = phase_linking.link(truth.slc, window=(7, 7))
>>> linked.phase.shape, bool(linked.certified.all())
((8, 12, 12), True)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from angsync.applications.phase_linking import correlation
from angsync.applications.phase_linking.chunked import Target, link_to_store, side_for, told_of
from angsync.applications.phase_linking.dates import labels_of, position_of
from angsync.applications.phase_linking.estimate import METHODS, LinkStatus, Settings, estimate
from angsync.applications.phase_linking.gathered import Gathered
from angsync.applications.phase_linking.network import LinkedNetwork, link_network
from angsync.applications.phase_linking.order import Sample, order_of, sample_of, sample_of_images, spread
from angsync.applications.phase_linking.result import Linked
from angsync.applications.phase_linking.simulated import MODELS, SimulatedStack, coherence_of, simulate
from angsync.applications.phase_linking.stores import check_images_path, described, layout, suffix_of
from angsync.applications.phase_linking.tiles import Images, linked_pieces
from angsync.errors import AngsyncWarning, InputError, ShapeError, names_keywords, warn_user
from angsync.io.failures import check_free
from angsync.io.image_stack import ImageStack, Source, image_stack
from angsync.io.image_stack import read_images as read
from angsync.problem.array_libraries import store_library
from angsync.problem.stored import to_load

__all__ = [
    "METHODS", "MODELS", "LinkStatus", "Linked", "LinkedNetwork", "SimulatedStack", "coherence_of", "link",
    "link_covariance", "link_network", "read", "simulate",
]  # fmt: skip

_SKEW = 1e-3  # by which coherences may miss their mirror image, or 1
_ROUNDED = 1e-6  # by which a diagonal may miss 1
_BLOCK_BYTES = 1 << 22  # of matrices that are worked on together: they stay in the cache from one step to the next


@names_keywords
def link(
    stack: Any,
    window: tuple[int, int] | int = (11, 11),
    method: str = "mle",
    beta: float = 0.1,
    reference: Any = 0,
    mask: ArrayLike | None = None,
    *,
    looks: float | None = None,
    dates: Any = None,
    chunk: int | tuple[int, int] | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    memory: int | str | None = None,
    client: Any = None,
    max_seconds: float | None = None,
    absent: str = "error",
    progress: Callable[[int, int], None] | None = None,
    certify: bool = True,
) -> Linked:
    """Link the phases of a stack of single-look complex images.

    Parameters
    ----------
    stack
        Complex images (dates, rows, columns): an array of NumPy, xarray, zarr, h5py or dask, what :func:`read` returns,
        or a path that it reads. NaN and exact zeros are no data; a pixel with the same number at every date is taken
        for a fill value. A date that is missing in a whole window, or is no better than noise there, has phase NaN.
        Arrays of xarray come back as such, with their coordinates.
    window
        Rows and columns that are averaged around each pixel; cut off at the edges of the images.
    method
        ``"mle"``: the phases of largest likelihood, with a certificate. ``"emi"``: the eigenvector that approximates
        them. ``"evd"``: the leading eigenvector of the coherences, each
        weighted by its modulus.
    beta
        Part of the identity in the coherence matrix that is inverted (mle, emi), at least: with few looks it is raised
        to 0.4 n / looks, at most 0.5. 0 is taken literally: with fewer looks than dates such phases are worthless,
        and the pixels have the status FEW_LOOKS.
    reference
        The date whose phase is 0: its number, or its name.
    mask
        Booleans (rows, columns): True leaves a pixel out, of all windows as well.
    looks
        How many independent looks a full window has, where samples are correlated (oversampled images); every sample
        counts as one unless given, and there are no more looks than samples. Error bars and beta depend on it.
    dates
        Names of the dates, in order; taken from the stack where it has them.
    chunk
        Rows and columns that are read and linked at a time, with a halo; unless given 512, or what ``memory`` allows.
        The bits of the result do not depend on it.
    output
        A zarr store or NetCDF file to write the result to, chunk by chunk; nothing as large as the images is then kept
        in memory. A zarr store keeps what is done whatever happens; chunks that fail are named in ``Linked.failed``.
    resume
        Go on with a zarr store: only chunks that are not done are linked. Refused where the images or the settings
        are others. A store that is not there is begun.
    memory
        Bytes that one tile may take, a number or text such as ``"1GB"``; half of what is free unless given.
    client
        A ``distributed.Client``, or the address of a scheduler, whose workers link the chunks of a zarr store.
    max_seconds
        For a zarr store: no chunk is begun after that time.
    absent
        What a chunk that a zarr store of images does not hold is (also one behind an array of xarray or dask): an
        ``"error"``, or ``"empty"`` where chunks of nothing but fill values were not written.
    progress
        For a zarr store: told after each chunk how many are done, and of how many.
    certify
        Whether to prove the phases of ``"mle"``.

    Examples
    --------
    >>> from angsync.applications import phase_linking
    >>> stack = phase_linking.simulate(8, (16, 16), rng=0)
    >>> linked = phase_linking.link(stack.slc, window=(9, 9))
    >>> linked.phase.shape, bool(linked.certified.all())
    ((8, 16, 16), True)
    """
    begin = time.perf_counter()
    images = stack if isinstance(stack, ImageStack) else image_stack(stack)
    n, rows, columns = images.data.shape
    names = labels_of(images.dates if dates is None else dates, n)
    settings = Settings(method, beta, position_of(reference, names), certify)
    parts = None if chunk is None else _pair(chunk, "chunk")
    sides = _pair(window, "window")
    hidden = _mask(mask, (rows, columns))
    most = sides[0] * sides[1]
    if looks is not None and not (_is_real(looks) and 0 < looks <= most):
        raise InputError(
            f"looks must be a positive number, at most the {most:,} samples of the window ({sides[0]} x {sides[1]}), "
            f"but it is {looks!r}. Leave it out to count every sample."
        )
    whole = Images(Source(images, absent), hidden, sides, looks)
    path = None if output is None else check_images_path(output, resume=resume)
    if path is not None:
        taken = layout(n, (rows, columns), single=False)
        check_free({*images.dims, *images.beside.names}, taken)
    doubts = correlation.in_words(whole.data, sides) if looks is None else ()
    if path is not None and suffix_of(path) == ".zarr":
        target = Target(path, resume, memory, client, max_seconds, progress)
        found, settings, notes = link_to_store(whole, settings, names, parts, images, target)
    elif resume or client is not None or max_seconds is not None or progress is not None:
        raise InputError("resume, client, max_seconds and progress are for an output that is a zarr store (.zarr).")
    else:
        order = order_of(sample_of_images(whole))
        settings, notes = replace(settings, order=order.order), (order.note,)
        found = _gathered(whole, settings, names, parts or (side_for(whole, memory),) * 2, path, images)
    written = None if path is None else os.fspath(path)
    result = found.result(settings, names, begin, images.coordinates, n=n, path=written)
    result = replace(_noted(result, *doubts, *notes), beside=images.beside)
    _warn(result)
    return images.like_given(result) if output is None else result


def _gathered(
    images: Images, settings: Settings, names: tuple[str, ...], sides: tuple[int, int], path: Path | None,
    given: ImageStack,
) -> Gathered:  # fmt: skip
    """All pixels in memory, or in a NetCDF file."""
    n, rows, columns = images.data.shape
    single = images.data.dtype == np.complex64
    found = Gathered.of(
        (n, rows, columns), single, path, given, keep_problems=path is None, side=min(sides),
        told=None if path is None else described(told_of(images, settings, names), given.path),
    )  # fmt: skip
    try:
        for piece in linked_pieces(images, settings, sides):
            if found.add(piece):
                break
    except KeyboardInterrupt:
        found.interrupted = True
    except BaseException:
        found.store.abandon()
        raise
    return found


@names_keywords
def link_covariance(
    C: ArrayLike,
    *,
    looks: ArrayLike,
    method: str = "mle",
    beta: float = 0.1,
    reference: Any = 0,
    dates: Any = None,
    certify: bool = True,
) -> Linked:
    """Link the phases of covariance or coherence matrices (..., n, n), estimated from ``looks`` samples each.

    Fields are (..., n) and (...). A matrix with NaN in it is EMPTY; a date without power (0 on the diagonal) has phase
    NaN. The other parameters are those of :func:`link`.

    Examples
    --------
    >>> from angsync.applications import phase_linking
    >>> coherence = phase_linking.coherence_of(6) * np.exp(1j * np.subtract.outer(np.arange(6), np.arange(6)))
    >>> phase_linking.link_covariance(coherence, looks=50).phase.round(2)  # against the first date, modulo one turn
    array([ 0.  ,  1.  ,  2.  ,  3.  , -2.28, -1.28])
    """
    begin = time.perf_counter()
    C = np.asarray(to_load(C) if store_library(C) in ("zarr", "dask", "xarray") else C)
    if C.ndim < 2 or C.shape[-1] != C.shape[-2] or C.shape[-1] < 2:
        raise ShapeError(f"C must be square matrices (..., n, n) of two dates or more, but its shape is {C.shape}.")
    n, leading = C.shape[-1], C.shape[:-2]
    names = labels_of(dates, n)
    settings = Settings(method, beta, position_of(reference, names), certify)
    matrices = C.reshape(-1, n, n)
    try:
        given = np.asarray(looks, dtype=float)
    except (TypeError, ValueError):
        raise InputError(
            f"looks must be numbers: how many samples each matrix is the mean of. It is {looks!r}."
        ) from None
    try:
        samples = np.broadcast_to(given, leading).reshape(-1).copy()
    except ValueError:
        raise ShapeError(f"looks has the shape {np.shape(looks)}, which does not broadcast to {leading}.") from None
    if not np.all((samples > 0) & (samples < np.inf)):
        raise InputError(
            f"looks must be positive and finite: how many samples each matrix is the mean of. It is {looks!r}."
        )
    single = C.dtype in (np.complex64, np.float32)
    found = Gathered.of((n, len(matrices), 1), single, None, None, keep_problems=True)
    size = max(64, _BLOCK_BYTES // (n * n * C.dtype.itemsize))
    order = order_of(_sampled(matrices, samples))
    settings = replace(settings, order=order.order)
    try:
        for k in range(0, len(matrices), size):
            part = slice(k, min(len(matrices), k + size))
            if found.add_block(part, estimate(_coherences(matrices[part], k), samples[part], settings), samples[part]):
                break
    except KeyboardInterrupt:
        found.interrupted = True
    result = _noted(found.result(settings, names, begin, {}, n=n, leading=leading), order.note)
    _warn(result)
    return result


def _sampled(matrices: NDArray, looks: NDArray[np.float64]) -> Sample:
    """Some that are looked at before all are solved: those that are refused then do not count now."""
    some = spread(len(matrices), matrices.shape[1])
    try:
        return sample_of(_coherences(matrices[some], 0), looks[some])
    except InputError:
        return sample_of(matrices[:0], looks[:0])


def _noted(result: Linked, *notes: str) -> Linked:
    return replace(result, notes=(*result.notes, *(note for note in notes if note)))


def _coherences(C: NDArray, first: int) -> NDArray:
    """With ones on the diagonal, zeros where a date has no power or a matrix is not finite; ``first`` is the number of
    the first one in the caller's stack."""
    kind: Any = np.complex64 if C.dtype in (np.complex64, np.float32) else np.complex128
    power = np.einsum("kii->ki", C).real
    if (power < 0).any():
        raise InputError("C must be covariances, but some have negative numbers on the diagonal.")
    largest = _largest(C)
    finite = np.isfinite(largest)
    if not finite.all() or np.abs(power - 1).max(initial=0) > _ROUNDED:
        good = (power > 0) & finite[:, None]
        over = np.where(good, 1 / np.sqrt(np.where(good, power, 1)), 0)
        C = np.where(finite[:, None, None], C, 0) * over[:, :, None] * over[:, None, :]
        largest = _largest(C)
        C = C.astype(kind, copy=False)
        np.einsum("kii->ki", C)[:] = good
    most = largest.max(initial=0)
    if most > (1 + _SKEW) ** 2:
        place = first + int(np.argmax(largest))
        raise InputError(
            f"matrix {place} is no covariance: a coherence |C_jl| / sqrt(C_jj C_ll) of {np.sqrt(most):.4g} is above 1. "
            "Pass the mean of x_j conj(x_l) over the looks, its diagonal included."
        )
    skew = np.abs(C[:, 0] - C[:, :, 0].conj()).max(axis=1, initial=0)  # the rest is looked at where they are solved
    if (skew > _SKEW).any():
        place = first + int(np.argmax(skew))
        raise InputError(
            f"C must be Hermitian, C[j, l] the mean of x_j conj(x_l), but matrix {place} is not: its first row and "
            f"column differ by {skew.max():.2e} of the power."
        )
    return C.astype(kind, copy=False)


def _largest(C: NDArray) -> NDArray:
    """The largest squared modulus of each matrix; NaN where one is NaN."""
    squares = np.square(C.real)
    squares += np.square(C.imag)
    return squares.max(axis=(1, 2), initial=0)


def _pair(value: Any, name: str) -> tuple[int, int]:
    sides = (value, value) if np.ndim(value) == 0 else tuple(value)
    if len(sides) != 2:
        raise InputError(f"{name} must be a number of rows and one of columns, but it is {value!r}.")
    return _whole(sides[0], name), _whole(sides[1], name)


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _whole(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name} must be made of positive whole numbers, but there is {value!r}.")
    return int(value)


def _mask(mask: Any, shape: tuple[int, int]) -> Any:
    if mask is None:
        return None
    if tuple(np.shape(mask)) != shape:
        raise ShapeError(f"mask must have the shape of an image, {shape}, but it has {np.shape(mask)}.")
    if np.dtype(mask.dtype if isinstance(mask, np.ndarray) else np.asarray(mask).dtype) != np.bool_:
        raise InputError("mask must be boolean: True leaves a pixel out.")
    return np.asarray(mask)


def _warn(result: Linked) -> None:
    for note in result.notes:
        if note.startswith(("fewer", "interrupted", "no pixel", "neighboring", "coherences are not", "chunks")):
            warn_user(note, AngsyncWarning)
