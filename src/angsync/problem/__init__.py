"""What is given: measurements, matrices as operators, anchors, other libraries' objects; f and its gradient."""
