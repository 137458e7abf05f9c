"""From the certified optimum of the isotropic cost to a minimum of the cost with full information matrices."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.applications.pose_graph.data import PoseGraph
from angsync.applications.pose_graph.information import InformationModel, Minimum
from angsync.circle import wrap
from angsync.solvers.stopping import Clock


@dataclass(frozen=True)
class Polish:
    """The way to a minimum of the information cost."""

    cost_before: float
    """Information cost of the certified poses."""
    cost: float
    """Information cost of the poses found."""
    isotropic_cost: float
    """F at the poses found."""
    steps: int
    converged: bool
    """Whether a minimum was reached, to 1e-5 of a standard error."""
    moved: float
    """Rms distance of the poses from the certified ones, both in the gauge of the references."""
    turned: float
    """Largest turn of a heading, radians."""

    def __str__(self) -> str:
        end = "a minimum" if self.converged else "a point that is NO minimum yet"
        return (
            f"{self.steps} steps to {end}; positions moved by {self.moved:.3g} m (rms), headings turned by up to "
            f"{np.degrees(self.turned):.3g} degrees"
        )

    @property
    def facts(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def polished(
    graph: PoseGraph, poses: NDArray[np.float64], positions: NDArray[np.float64], clock: Clock
) -> tuple[NDArray[np.float64], NDArray[np.float64], Polish, Minimum]:
    """Poses and landmarks at a minimum of the information cost, and how they were reached."""
    model = InformationModel(graph)
    start = model.nodes(poses, positions)
    found = model.minimized(start, clock)
    nodes = found.nodes
    better = np.column_stack([nodes[: graph.n, :2], wrap(nodes[: graph.n, 2])])
    seen = nodes[graph.n :, :2]
    way = better - poses
    polish = Polish(
        cost_before=model.cost(start),
        cost=found.cost,
        isotropic_cost=graph.cost(better, seen),
        steps=found.steps,
        converged=found.converged,
        moved=float(np.sqrt(np.mean(np.sum(way[:, :2] ** 2, axis=1)))),
        turned=float(np.abs(wrap(way[:, 2])).max(initial=0.0)),
    )
    return better, seen, polish, found
