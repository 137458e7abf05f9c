"""The cases of the benchmark scripts: each module makes the rows of one part of a table and prints nothing."""
