"""Lower bounds on the smallest eigenvalues of S(z), one method a file."""
