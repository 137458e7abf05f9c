"""A twisted ring is a strict local maximum: plain ascent stays, the default pipeline leaves and proves it."""

import numpy as np

import angsync as ang

ring = ang.simulate.ring(30, rng=0)
twisted = ring.z * np.exp(2j * np.pi * np.arange(30) / 30)

stuck = ang.synchronize(ring.C, solver=ang.GPM(alpha=4.0), start=twisted)
print(f"GPM alone:        f = {stuck.objective:.4f}, {stuck.certificate.verdict.name}")
free = ang.synchronize(ring.C, start=twisted)
print(f"default pipeline: f = {free.objective:.4f}, {free.certificate.verdict.name}")
print(free.method)
