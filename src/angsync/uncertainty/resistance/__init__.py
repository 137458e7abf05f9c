"""Electrical networks: effective resistances, which are the variances of phase differences.

A measured graph is a network in which an edge of information w is a conductor of conductance w. With sigma = 1 the
variance of the difference of two phases is the effective resistance between their nodes.
"""

from angsync.uncertainty.resistance.choice import Method, node_variances, pair_resistances, plan, pseudo_inverse
from angsync.uncertainty.resistance.network import Pairs, collect_pairs

__all__ = ["Method", "Pairs", "collect_pairs", "node_variances", "pair_resistances", "plan", "pseudo_inverse"]
