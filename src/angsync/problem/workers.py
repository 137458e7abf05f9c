"""Workers of a ``distributed.Client``: are they there, and do they run this version of angsync?

The library distributed is not imported here: whoever has a client has imported it.
"""

from __future__ import annotations

import functools
import time
from typing import Any

from angsync.errors import InputError, MissingDependencyError

_WAIT_FOR_WORKERS_SECONDS = 60.0
"""How long a cluster may be without any worker: a nanny needs a few seconds for a new one, a queue of jobs longer."""


@functools.cache  # the files of the installed package are looked through
def version() -> str:
    """The version of angsync in this process."""
    import angsync

    return str(angsync.__version__)


def check_version(expected: str) -> None:
    """An error where this process has another version than the client: called at the beginning of every task."""
    own = version()
    if own != expected:
        raise InputError(
            f"a worker ({worker_address()}) has angsync {own}, the client {expected}: their bits may differ. "
            "Install one version on all of them."
        )


def worker_address() -> str:
    """The address of the worker that this runs on."""
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:  # on no worker
        return "this process"


def connected(client: Any) -> Any:
    """A ``distributed.Client``: the one given, or one for the scheduler at this address."""
    try:
        import distributed
    except ImportError:
        raise MissingDependencyError("distributed", "cluster", "work on a cluster") from None
    if isinstance(client, str):
        try:
            return distributed.Client(client, timeout="20s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(f"no scheduler of Dask answers at {client}: {error}.") from None
    if not isinstance(client, distributed.Client):
        raise InputError(f"client must be a distributed.Client, but it is a {type(client).__name__}.")
    if client.asynchronous:
        raise InputError("client is asynchronous: make one with distributed.Client(address), asynchronous=False.")
    return client


def threads_of(client: Any) -> dict[str, int]:
    """The threads of each worker by its address, sorted; waits for a first worker, and refuses other versions."""
    Patience(client).check()
    versions = client.run(version)
    others = {address: found for address, found in versions.items() if found != version()}
    if others:
        some = ", ".join(f"{address} ({found})" for address, found in sorted(others.items())[:5])
        raise InputError(
            f"{len(others)} of {len(versions)} workers have another version of angsync than {version()}: {some}. "
            "Install one version on all of them."
        )
    return dict(sorted((address, int(count)) for address, count in client.nthreads().items() if address in versions))


class Patience:
    """Waiting for a cluster without workers: for a minute, and then an error instead of a call that never returns."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._alone_since: float | None = None

    def check(self) -> None:
        """Whether there are workers: called again and again while nothing comes back; waits where there are none."""
        while not self._client.nthreads():
            now = time.monotonic()
            self._alone_since = now if self._alone_since is None else self._alone_since
            if now - self._alone_since > _WAIT_FOR_WORKERS_SECONDS:
                raise InputError(
                    f"the cluster of {self._client!r} has had no worker for {_WAIT_FOR_WORKERS_SECONDS:.0f} s: start "
                    "some, and call again."
                )
            time.sleep(0.1)
        self._alone_since = None
