"""The figures of the reproduction page: each takes one series of the results and may find it empty."""

from angsync.study.reproduce.figures.common import Entry, PanelFigure, number
from angsync.study.reproduce.figures.convergence import convergence_figure, error_bound_figure
from angsync.study.reproduce.figures.efficiency import efficiency_figure, time_figure, transition_figure
from angsync.study.reproduce.figures.estimation import error_figure

__all__ = [
    "Entry",
    "PanelFigure",
    "convergence_figure",
    "efficiency_figure",
    "error_bound_figure",
    "error_figure",
    "number",
    "time_figure",
    "transition_figure",
]
