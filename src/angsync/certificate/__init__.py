"""What is proved about a point: bounds on S(z), the gap, the verdict; better points; the semidefinite relaxation."""
