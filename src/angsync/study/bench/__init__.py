"""The benchmark that anybody can run again: ourselves and others on the same problems, taking turns in one process.

``angsync bench`` is its command, :func:`angsync.study.bench.engine.run_groups` the same for programs. Every method has
its best number of BLAS threads, methods that solve the same problem have to reach the same objective, and the read
bandwidth of the machine is measured beside every race, so that a time is also a fraction of what the machine could do.
"""
