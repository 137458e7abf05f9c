"""``python tests/linking_work.py STACK OUT LOG COUNT`` begins or resumes phase linking, and kills itself after a while.

LOG receives the names of the chunks that are computed; the process dies when COUNT of them are done.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from angsync.applications import phase_linking
from angsync.applications.phase_linking import chunked
from angsync.io.chunks import Chunk, Computed


def main(path: str, out: str, log: str, count: int) -> None:
    compute = chunked.LinkChunk.__call__

    def logged(self: chunked.LinkChunk, chunk: Chunk) -> Computed:
        with Path(log).open("a", encoding="utf-8") as stream:
            stream.write(f"{chunk.name}\n")
        return compute(self, chunk)

    def dies(done: int, total: int) -> None:
        if done >= count:
            os.kill(os.getpid(), signal.SIGKILL)

    chunked.LinkChunk.__call__ = logged
    phase_linking.link(path, 5, output=out, chunk=(6, 7), resume=True, progress=dies)


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]))
