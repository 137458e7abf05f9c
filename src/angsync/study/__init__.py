"""Studies of the methods: the claims of the paper measured, the benchmark, the demonstration."""
