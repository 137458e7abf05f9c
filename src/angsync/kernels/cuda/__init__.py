"""Kernels on a CUDA device, compiled through CuPy, and their NumPy references."""
