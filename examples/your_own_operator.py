"""C known only by its products: here an FFT on a circle of sensors, never formed as a matrix."""

import numpy as np
from scipy.sparse.linalg import LinearOperator

import angsync as ang

n = 512
rng = np.random.default_rng(0)
truth = np.exp(2j * np.pi * rng.random(n))
# sensor j measures its neighbours up to 40 places away, all noise-free: C = Z (circulant band) Z^H
band = np.zeros(n)
band[1:41] = band[-40:] = 1.0
spectrum = np.fft.fft(band).real


def product(v: np.ndarray) -> np.ndarray:
    return truth * np.fft.ifft(spectrum * np.fft.fft(truth.conj() * v.ravel()))


result = ang.synchronize(LinearOperator((n, n), matvec=product, dtype=complex))
print(result)
print(f"largest error: {ang.distance(result.z, truth, np.inf):.1e}")
