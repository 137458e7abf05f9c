"""Workers of a ``distributed.Client``: wait for them, and refuse those with another version of angsync.

The library distributed is imported only here and below: a caller with a client has imported it.
"""

from __future__ import annotations

import functools
from typing import Any

from angsync.errors import InputError, MissingDependencyError

_WAIT_FOR_WORKERS_SECONDS = 60.0
"""How long a cluster may be without any worker: a nanny needs a few seconds for a new one, a queue of jobs longer."""


@functools.cache  # the files of the installed package are looked through
def version() -> str:
    """Return the version of angsync in this process."""
    import angsync

    return str(angsync.__version__)


def check_version(expected: str) -> None:
    """Raise an error if this process has another version than the client: called at the beginning of every task."""
    own = version()
    if own != expected:
        raise InputError(
            f"a worker has angsync {own}, the client {expected}: their bits may differ. Install one version on all of "
            "them."
        )


def connected(client: Any) -> Any:
    """Return a ``distributed.Client``: the one given, or one for the scheduler at this address."""
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


def wait_for_one(client: Any) -> None:
    """Wait for a first worker: for a minute, and then raise an error instead of a call that never returns."""
    try:
        client.wait_for_workers(1, timeout=_WAIT_FOR_WORKERS_SECONDS)
    except TimeoutError:
        raise InputError(
            f"the cluster of {client!r} has had no worker for {_WAIT_FOR_WORKERS_SECONDS:.0f} s. Start some, and call "
            "again."
        ) from None


def threads_of(client: Any) -> dict[str, int]:
    """Return the threads of each worker by its address, sorted; wait for a first one, and refuse other versions."""
    wait_for_one(client)
    versions = client.run(version)
    others = {address: found for address, found in versions.items() if found != version()}
    if others:
        some = ", ".join(f"{address} ({found})" for address, found in sorted(others.items())[:5])
        raise InputError(
            f"{len(others)} of {len(versions)} workers have another version of angsync than {version()}: {some}. "
            "Install one version on all of them."
        )
    return dict(sorted((address, int(count)) for address, count in client.nthreads().items() if address in versions))
