"""Graphs on which solvers fail for different reasons, with 0.3 rad of noise; closed forms where there are any."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import angsync as ang


def graphs(n: int = 1000) -> dict[str, Any]:
    """The graphs by name, connected, nodes numbered."""
    import networkx as nx

    threshold = nx.gnp_random_graph(n, 1.05 * np.log(n) / n, seed=1)
    threshold = threshold.subgraph(max(nx.connected_components(threshold), key=len))
    made = {
        "ring": nx.cycle_graph(n),
        "star": nx.star_graph(n - 1),
        "path": nx.path_graph(n),
        "lollipop": nx.lollipop_graph(n // 10, n - n // 10),
        "barbell": nx.barbell_graph(n // 10, n - 2 * (n // 10)),
        "binary tree": nx.balanced_tree(2, 9),
        "power law": nx.barabasi_albert_graph(n, 2, seed=0),
        "Erdos-Renyi near its connectivity threshold": threshold,
    }
    return {name: nx.convert_node_labels_to_integers(graph) for name, graph in made.items()}


def closed_form(name: str, problem: ang.simulate.Problem) -> float | None:
    """The optimum of f where it is known: all edges met on a tree, the closing error shared out evenly on a ring."""
    edges = problem.edges
    assert edges is not None
    if name in ("star", "path", "binary tree"):
        return 2.0 * len(edges)
    if name == "ring":
        # networkx lists 0-1, 0-(n-1), 1-2, ...: follow the ring from node 0, adding theta_i - theta_j along it
        forward = np.where(edges.j - edges.i == 1, edges.angle, -edges.angle)
        holonomy = np.angle(np.exp(1j * forward.sum()))
        return 2.0 * edges.n * float(np.cos(holonomy / edges.n))
    return None


def rows(quick: bool) -> list[dict[str, Any]]:
    """Return a row per graph: the default solver, the closed form, and Newton from the truth."""
    rows = []
    for name, graph in graphs().items():
        ends = np.array(graph.edges())
        problem = ang.simulate.phase_noise(graph.number_of_nodes(), 0.3, graph=(ends[:, 0], ends[:, 1]), rng=3)
        begin = time.perf_counter()
        result = ang.synchronize(problem.edges)
        seconds = time.perf_counter() - begin
        from_truth = ang.synchronize(problem.edges, solver=ang.Newton(), start=problem.z, certify=False).objective
        exact = closed_form(name, problem)
        assert result.certificate is not None
        rows.append(
            {
                "case": f"{name} (n = {problem.n})",
                "method": "angsync",
                "seconds": seconds,
                "value": result.objective,
                "certificate": f"{result.certificate.verdict.name} ({result.certificate.method})",
                "f / f(Newton from the truth) - 1": result.objective / from_truth - 1,
                "f / closed form - 1": None if exact is None else result.objective / exact - 1,
            }
        )
    return rows
