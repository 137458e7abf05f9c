"""What compiled kernels compute, written plainly: oracles that only tests ask. Fallbacks are in ``angsync.kernels``."""
