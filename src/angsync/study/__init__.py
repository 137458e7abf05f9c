"""For those who study the methods: the paper's claims measured, the benchmark, the demonstration."""
