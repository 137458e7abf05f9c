"""Sparse matrices and graphs: products, smoothing, contraction."""
