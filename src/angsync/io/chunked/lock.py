"""One client at a time on an output: a file with the process and the machine that works on it.

Nothing is decided by clocks: a process of this machine is there or not, and of another machine nobody here can know.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from angsync.errors import OutputError

try:
    import fcntl
except ImportError:  # not on Windows: there the content of the file alone decides
    fcntl = None  # type: ignore[assignment]

NAME = "lock"
_TRIES = 10  # when the file is taken away between opening and locking it, by a client that ends just then


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the output whose manifest lies in this folder; :class:`OutputError` where another client does."""
    path = folder / NAME
    stream = _held(path)
    try:
        stream.seek(0)
        stream.truncate()
        stream.write(json.dumps(_own()).encode())
        stream.flush()
        yield
    finally:
        with suppress(OSError):
            path.unlink()
        stream.close()


def holder(folder: Path) -> str:
    """Who works on this output now, in words; empty where nobody does."""
    try:
        content = _content((folder / NAME).read_bytes())
    except OSError:
        return ""
    return _words(content) if content and _is_alive(content) else ""


def _held(path: Path) -> Any:
    for _ in range(_TRIES):
        stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            if not _exclusive(stream):
                raise _refused(path, _content(stream.read()))
            with suppress(FileNotFoundError):
                if os.fstat(stream.fileno()).st_ino == path.stat().st_ino:
                    content = _content(stream.read())
                    if content and _is_alive(content):
                        raise _refused(path, content)
                    return stream
        except BaseException:
            stream.close()
            raise
        stream.close()
    raise OutputError(f"cannot lock {path}: it comes and goes. See that one client works on this output, not several.")


def _exclusive(stream: Any) -> bool:
    """Whether nobody else on this machine has the file locked, as far as the file system knows of locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _own() -> dict[str, Any]:
    pid = os.getpid()
    return {"pid": pid, "host": socket.gethostname(), "begun": _birth(pid)}


def _birth(pid: int) -> str:
    """What tells a process from a later one of the same number (ticks from the start of the machine); empty where the
    system does not say."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text()
        machine = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    return f"{machine}/{told.rpartition(')')[2].split()[19]}"


def _is_alive(content: dict[str, Any]) -> bool:
    """Whether the process is there; of other machines it has to be believed."""
    pid = content.get("pid")
    if not isinstance(pid, int) or pid <= 0:
        return False
    if content.get("host") != socket.gethostname():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # it is there, and somebody else's
    birth = _birth(pid)
    return not birth or not content.get("begun") or birth == content["begun"]


def _content(text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _words(content: dict[str, Any]) -> str:
    return f"process {content.get('pid', '?')} on {content.get('host', 'this machine')}"


def _refused(path: Path, content: dict[str, Any]) -> OutputError:
    return OutputError(
        f"{path.parent.parent} is being written by another client, {_words(content)}. Wait for it or end it; if that "
        f"machine is gone, delete {path}."
    )
