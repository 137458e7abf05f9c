"""Five clocks, seven measured differences with different precision: phases, error bars, and the odd one out."""

import numpy as np

import angsync as ang

clocks = ["A", "B", "C", "D", "E"]
pairs = [("A", "B"), ("B", "C"), ("C", "D"), ("D", "E"), ("E", "A"), ("A", "C"), ("B", "D")]
truth = dict(zip(clocks, [0.0, 0.8, -1.1, 2.0, 0.3], strict=True))
rng = np.random.default_rng(3)
angle = np.array([truth[i] - truth[j] for i, j in pairs]) + rng.normal(0, 0.02, len(pairs))
angle[5] += 0.5  # one bad measurement: A - C

measurements = ang.Measurements([i for i, _ in pairs], [j for _, j in pairs], angle, weight=[1, 1, 4, 1, 1, 1, 4])
result = ang.synchronize(measurements, gauge="A")
errors = result.standard_errors()
for clock, phase, error in zip(result.labels, result.angles, errors, strict=True):
    print(f"{clock}: {phase:+.3f} +- {error:.3f} rad (truth {truth[clock]:+.3f})")

residuals = result.edge_residuals()
worst = int(np.nanargmax(np.abs(residuals.standardised)))
print(f"least trusted measurement: {pairs[worst]}, residual {residuals.wrapped[worst]:+.2f} rad")
