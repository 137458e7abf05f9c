"""Studies of the methods: the claims of the paper measured, and the demonstration."""
