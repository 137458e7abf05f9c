"""Solve a noisy problem with known truth, and read what is proved about the answer."""

import angsync as ang

problem = ang.simulate.gaussian(n=200, sigma=2.0, rng=0)
result = ang.synchronize(problem.C)

print(result)
print(f"error against the truth: d_2 = {ang.distance(result.z, problem.z):.3f}")
