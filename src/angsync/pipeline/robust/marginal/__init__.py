"""Which edges to believe, by marginal likelihood: for sparse graphs, of rotations or of whole poses.

A false loop over a long chain bends the chain and keeps a small residual of its own, so no loss of the residuals can
tell. Here a set of edges is judged by the probability of its angles with the nodes integrated out (:mod:`.score`); what
a change of the set would gain follows from residuals *left out* (:mod:`.ascent`). Candidates come from graduated
non-convexity on a ladder of scales (:mod:`.ladder`) and from greedy pursuit (:mod:`.search`); :mod:`.doubt` asks how
sure the best of them is. The edges are those of :class:`~.rotations.Rotations`.
"""
