r"""Signals and images from intensities that local masks saw, without any phases; patches of images joined.

Intensities are linear in the products of neighboring entries (:mod:`~angsync.applications.phase_retrieval.band`);
the sizes are the roots of the products of entries with themselves, and the phases are what all other products agree
on best: a synchronization, each product weighted by its square over the variance of its noise. A polish then fits the
intensities themselves (:mod:`~angsync.applications.phase_retrieval.fit`).
"""

from angsync.applications.phase_retrieval.masks import Masks, local_masks, measure
from angsync.applications.phase_retrieval.reading import read, read_patches
from angsync.applications.phase_retrieval.recovered import Recovered
from angsync.applications.phase_retrieval.recovery import recover
from angsync.applications.phase_retrieval.simulated import Simulated, simulate
from angsync.applications.phase_retrieval.stitching import Stitched, stitch

__all__ = [
    "Masks",
    "Recovered",
    "Simulated",
    "Stitched",
    "local_masks",
    "measure",
    "read",
    "read_patches",
    "recover",
    "simulate",
    "stitch",
]
