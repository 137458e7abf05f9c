"""Dense matrices: products, the 16-bit copy, inner iterations, small proofs."""
