"""What is proved about a point: bounds on S(z), the gap, the verdict; better points; the semidefinite relaxation."""

GAP_TOLERANCE = 1e-8
"""CERTIFIED unless asked for otherwise: the gap is at most so much of the scale. It stands here, where no NumPy is
loaded, because the command line shows it in its help."""
