"""Work on arrays that is done chunk by chunk into a zarr store: it can be ended at any time, gone on with, and checked.

One task a chunk reads its part, computes, writes whole chunks of the output and then, last of all, a *marker*: a small
file ``OUT.zarr/_manifest/0_3.json`` with a checksum of what was written. What has a marker is done; what has none is
computed again. :mod:`~angsync.io.chunked.work` carries the work out, on whatever :mod:`~angsync.io.chunked.runner`.
"""
