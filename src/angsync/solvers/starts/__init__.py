"""Starting points, one a file. Their names stand in :mod:`angsync.solvers.starts.names`."""
