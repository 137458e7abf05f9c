"""Make ``.venv`` ready for what is asked, or see at once that it already is.

    python tools/bootstrap.py [base] [test] [lint] [docs]

``base`` is the package with its hard dependencies; each other word is an extra of ``pyproject.toml``.
Standard library only: this file runs before anything is installed.

How a stale or half-made environment is recognized:

* ``.venv/angsync-stamp.json`` is written last. It records the interpreter, the place of the checkout, a
  hash of the files that decide what is installed, and the names of everything that was installed. All
  of it agrees, and ``.venv/bin/python`` runs: nothing to do, and pip is not called.
* ``.venv/angsync-unfinished`` exists while something is being created or installed. Found at the start,
  it means that an earlier run was cut off in the middle, and nothing in ``.venv`` can be trusted.
* Neither: somebody else made this ``.venv``. It is kept if its interpreter runs and belongs here.

After an install the libraries are imported once. If one of them does not import, ``.venv`` is made anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MINIMUM = (3, 11)
INPUTS = (
    "pyproject.toml",
    "constraints.txt",
    "setup.py",
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("src/angsync/kernels/**/*.[ch]")),
)
STAMP = "angsync-stamp.json"
UNFINISHED = "angsync-unfinished"

# Imported after an install to see that it works. The package itself is only located, not imported:
# a mistake in its source is the business of the tests, not a broken environment.
MODULES = {
    "base": ("numpy", "scipy.sparse.linalg", "rich", "typer"),
    "test": (
        "pytest", "xdist", "hypothesis", "pandas", "polars", "pymanopt", "cvxpy", "xarray", "zarr", "dask",
        "distributed", "filelock",
        "narwhals", "pyarrow", "h5py", "networkx", "matplotlib", "jinja2",
    ),
    "lint": ("ruff", "mypy", "importlinter"),
    "docs": ("sphinx", "furo", "myst_parser", "sphinx-mathjax-offline", "sphinx_gallery", "matplotlib"),
    "browser": ("playwright.sync_api",),
}  # fmt: skip


class BootstrapError(Exception):
    """Nothing more can be done by itself; the message says what to do."""


def say(text: str) -> None:
    print(f"angsync: {text}", file=sys.stderr, flush=True)


# ---------------------------------------------------------------- running things


def child_environment() -> dict[str, str]:
    """The user's environment (their ``PIP_*`` included), less what would leak other packages in."""
    environment = dict(os.environ)
    for name in ("PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__", "VIRTUAL_ENV"):
        environment.pop(name, None)
    environment.setdefault("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    environment.setdefault("PIP_NO_INPUT", "1")
    # A user-wide "install into my home" setting cannot be meant for a project's own environment.
    environment["PIP_USER"] = "0"
    return environment


def run(command: Sequence[str | Path], lock: int | None = None) -> tuple[int, str]:
    """Exit status and joined output of a command. A program that cannot be started has status 127."""
    try:
        done = subprocess.run(
            [str(word) for word in command],
            cwd=ROOT,
            env=child_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # A child keeps the lock: if this process is killed, a second make waits for an orphaned pip.
            pass_fds=() if lock is None or os.name != "posix" else (lock,),
        )
    except OSError as error:
        return 127, str(error)
    return done.returncode, done.stdout


def works(command: Sequence[str | Path]) -> bool:
    return run(command)[0] == 0


@contextlib.contextmanager
def exclusive() -> Iterator[int | None]:
    """One bootstrap at a time in this checkout. This very file is the lock, so none is left behind."""
    try:
        import fcntl
    except ImportError:  # not POSIX
        yield None
        return
    with open(__file__, "rb") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another make is preparing .venv; waiting for it.")
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: better to go on than to refuse
            yield None
            return
        yield handle.fileno()


# ---------------------------------------------------------------- looking at an environment


def venv_python(venv: Path) -> Path:
    return venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def inputs_hash(root: Path) -> str:
    """Changes whenever a file that decides what is installed changes."""
    digest = hashlib.sha256()
    for name in INPUTS:
        path = root / name
        content = path.read_bytes() if path.exists() else b""
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def expected_stamp(root: Path, venv: Path) -> dict[str, str]:
    """What the stamp has to say for the environment to be current (extras and listing apart)."""
    try:
        configuration = (venv / "pyvenv.cfg").read_text(errors="replace")
    except OSError:
        configuration = ""
    version = re.search(r"^version(?:_info)?\s*=\s*(\S+)", configuration, re.MULTILINE)
    return {
        "root": str(root),
        # The resolved name shows a system Python that was replaced by another minor version.
        "python": f"{os.path.realpath(venv_python(venv))} {version.group(1) if version else '?'}",
        "inputs": inputs_hash(root),
    }


def listing(venv: Path) -> list[str]:
    """Names of everything installed: deleting a package or a command by hand shows up here."""
    folders = [venv_python(venv).parent, *venv.glob("lib/python3*/site-packages"), venv / "Lib/site-packages"]
    names = []
    for folder in folders:
        if folder.is_dir():
            names += [
                f"{folder.name}/{entry}"
                for entry in os.listdir(folder)
                if entry != "__pycache__" and not entry.startswith("~")
            ]
    return sorted(names)


def read_stamp(venv: Path) -> dict[str, object]:
    try:
        stamp = json.loads((venv / STAMP).read_text())
    except (OSError, ValueError):
        return {}
    return stamp if isinstance(stamp, dict) else {}


def is_current(root: Path, venv: Path, extras: Sequence[str]) -> bool:
    """True when the environment has all that is asked, without calling pip."""
    stamp = read_stamp(venv)
    return (
        bool(stamp)
        and not (venv / UNFINISHED).exists()
        and all(stamp.get(key) == value for key, value in expected_stamp(root, venv).items())
        and set(extras) <= set(stamp.get("extras", []))  # type: ignore[call-overload]
        and set(stamp.get("listing", [])) <= set(listing(venv))  # type: ignore[call-overload]
        and works([venv_python(venv), "-I", "-S", "-c", ""])
    )


def scripts_belong(venv: Path) -> bool:
    """False when a command in ``bin`` starts another place's Python: the folder was moved or copied."""
    own = {os.fsencode(venv), os.fsencode(os.path.realpath(venv))}
    for script in venv_python(venv).parent.glob("*"):
        if script.is_symlink() or not script.is_file():
            continue
        with open(script, "rb") as handle:
            head = handle.read(512)
        start = b"\n".join(head.splitlines()[:2])
        if head.startswith(b"#!") and b"python" in start and not any(path in start for path in own):
            return False
    return True


def why_unusable(root: Path, venv: Path) -> str | None:
    """Why ``.venv`` has to be made anew; None when it can be kept and installed into."""
    if (venv / UNFINISHED).exists():
        return "an earlier run was interrupted"
    stamp, expected = read_stamp(venv), expected_stamp(root, venv)
    if stamp.get("root", expected["root"]) != expected["root"]:
        return "the checkout was moved"
    if stamp.get("python", expected["python"]) != expected["python"]:
        return "its Python is missing or was replaced"
    if not set(stamp.get("listing", [])) <= set(listing(venv)):  # type: ignore[call-overload]
        return "installed files are missing"
    probe = f"import sys; print(sys.version_info >= {MINIMUM}); print(sys.prefix)"
    status, output = run([venv_python(venv), "-I", "-c", probe])
    answer = output.splitlines()
    if status != 0 or len(answer) < 2:
        return "its Python does not run"
    if answer[0] != "True":
        return "its Python is older than {}.{}".format(*MINIMUM)
    if not os.path.exists(answer[1]) or not os.path.samefile(answer[1], venv) or not scripts_belong(venv):
        return "it belongs to another place"
    return None


# ---------------------------------------------------------------- making one


def remove(venv: Path) -> None:
    """Remove ``.venv``: the folder, or the link but not what it points to."""
    if venv.is_symlink():
        venv.unlink()
    elif venv.is_dir():
        shutil.rmtree(venv)
    elif venv.exists():
        if venv.stat().st_size:
            raise BootstrapError(f"{venv.name} is a file, not an environment. Move it away and try again.")
        venv.unlink()


def base_python() -> str:
    """The interpreter running this, or the one behind it when it lives in an environment itself."""
    return getattr(sys, "_base_executable", None) or sys.executable


def other_pythons() -> list[str]:
    found = [shutil.which(f"python3{minor}") for minor in ("", ".14", ".13", ".12", ".11", ".10", ".9")]
    return [path for path in found if path]


def creators(venv: Path) -> Iterator[tuple[str, list[str]]]:
    """Ways to make an empty environment, best first."""
    python = base_python()
    yield "venv with ensurepip", [python, "-I", "-m", "venv", str(venv)]
    yield "venv without pip", [python, "-I", "-m", "venv", "--without-pip", str(venv)]
    yield "the virtualenv module", [python, "-m", "virtualenv", "--quiet", str(venv)]
    for program, options in (
        ("virtualenv", ["--quiet", "-p", python]),
        ("uv", ["venv", "--quiet", "--python", python]),
    ):
        path = shutil.which(program)
        if path:
            yield f"{program} on PATH", [path, *options, str(venv)]


def installers(venv: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Ways to install into the environment, best first: name, command, and a harmless call that tries it."""
    python = str(venv_python(venv))
    own = [python, "-I", "-m", "pip"]
    yield "the environment's own pip", own, [*own, "--version"]
    outside = [("pip of this Python", [base_python(), "-m", "pip"])]
    outside += [(f"{name} on PATH", [path]) for name in ("pip", "pip3") if (path := shutil.which(name))]
    outside += [(f"pip of {path}", [path, "-m", "pip"]) for path in other_pythons()]
    for name, command in outside:
        command = [*command, "--python", python]  # needs pip 22.3; an older one fails the trial
        yield name, command, [*command, "--version"]
    for wheel in sorted(Path("/usr/share/python-wheels").glob("pip-*.whl"), reverse=True):
        command = [python, "-I", f"{wheel}/pip"]
        yield f"the wheel {wheel.name} of the system", command, [*command, "--version"]
    uv = shutil.which("uv")
    if uv:
        yield "uv on PATH", [uv, "pip"], [uv, "--version"]


def last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no output"


def explain(tried: Sequence[tuple[str, str]]) -> str:
    """The message when no way of making the environment works."""
    attempts = "\n".join(f"    - {what}: {why}" for what, why in tried)
    return (
        "cannot make a Python environment with a way to install into it.\n"
        f"  tried:\n{attempts}\n"
        "  to mend it, install one of these and run make again:\n"
        "    - the venv package of your system (Debian, Ubuntu: apt install python3-venv)\n"
        "    - pip 22.3 or newer for any Python on PATH (Debian, Ubuntu: apt install python3-pip)\n"
        "    - virtualenv, or uv, on PATH\n"
        "  or name a complete Python:  make test PYTHON=/path/to/python3.12"
    )


def find_installer(venv: Path, tried: list[tuple[str, str]]) -> list[str] | None:
    """The command that takes ``install ...`` for this environment; None (and reasons) when there is none."""
    for name, command, trial in installers(venv):
        status, output = run(trial)
        if status == 0:
            return command
        tried.append((name, last_line(output)))
        if name == "the environment's own pip" and works([venv_python(venv), "-I", "-m", "ensurepip"]):
            return command
    return None


def create(venv: Path, lock: int | None) -> list[str]:
    """Make ``.venv`` anew, marked unfinished; returns the command that installs into it."""
    tried: list[tuple[str, str]] = []
    for name, command in creators(venv):
        remove(venv)
        venv.mkdir(parents=True)
        (venv / UNFINISHED).touch()
        status, output = run(command, lock)
        if status != 0 or not works([venv_python(venv), "-I", "-c", ""]):
            tried.append((name, last_line(output)))
            continue
        (venv / UNFINISHED).touch()  # a creator may have cleared the folder
        installer = find_installer(venv, tried)
        if installer:
            return installer
    remove(venv)
    raise BootstrapError(explain(tried))


def install(venv: Path, extras: Sequence[str], installer: Sequence[str], lock: int | None) -> None:
    """Install the package, editable, with the extras asked. Shows the output only when it fails."""
    names = ",".join(extra for extra in extras if extra != "base")
    command = [
        *installer,
        "install",
        "--quiet",
        "-e",
        f".[{names}]" if names else ".",
        "-c",
        "constraints.txt",
    ]
    if Path(installer[0]).stem == "uv":
        command += ["--python", str(venv_python(venv))]
    (venv / UNFINISHED).touch()
    status, output = run(command, lock)
    if status != 0:
        if status > 0:  # pip gave up in good order; only a killed one leaves half a package behind
            (venv / UNFINISHED).unlink(missing_ok=True)
        print("\n".join(output.splitlines()[-40:]), file=sys.stderr)
        raise BootstrapError(
            "installing failed; the lines above say why. Without a network, tell pip where packages are "
            "(PIP_INDEX_URL, or PIP_FIND_LINKS with PIP_NO_INDEX=1) and run make again."
        )


def broken_imports(venv: Path, extras: Sequence[str]) -> str | None:
    """Import what was installed; the error of the first module that fails, or None."""
    modules = [module for extra in extras for module in MODULES[extra]]
    code = (
        "import importlib, importlib.util, sys\n"
        "for name in sys.argv[1:]: importlib.import_module(name)\n"
        "sys.exit(importlib.util.find_spec('angsync') is None and 'angsync cannot be found')"
    )
    status, output = run([venv_python(venv), "-I", "-c", code, *modules])
    return None if status == 0 else last_line(output)


def write_stamp(root: Path, venv: Path, extras: Sequence[str]) -> None:
    stamp = {**expected_stamp(root, venv), "extras": sorted(extras), "listing": listing(venv)}
    temporary = venv / (STAMP + ".new")
    temporary.write_text(json.dumps(stamp, indent=1))
    (venv / UNFINISHED).unlink(missing_ok=True)
    temporary.replace(venv / STAMP)


def other_python_wanted(venv: Path) -> bool:
    """True when the environment was not made with the version that is running this."""
    status, output = run([venv_python(venv), "-I", "-S", "-c", "import sys; print(sys.version_info[:3])"])
    return status == 0 and output.strip() != str(tuple(sys.version_info[:3]))


def ensure(extras: Sequence[str], exactly_this_python: bool = False) -> None:
    """Bring ``.venv`` into the state asked; returns at once when it is there already."""
    venv = ROOT / ".venv"
    if is_current(ROOT, venv, extras) and not (exactly_this_python and other_python_wanted(venv)):
        return
    with exclusive() as lock:
        reason = why_unusable(ROOT, venv) if venv.exists() or venv.is_symlink() else "it is not there yet"
        if reason is None and exactly_this_python and other_python_wanted(venv):
            reason = "another Python is asked for"
        if reason is None and is_current(ROOT, venv, extras):  # another make did it while this one waited
            return
        started = time.monotonic()
        installer = None
        if reason is None:
            # What is installed already and still current stays on record.
            stamp = read_stamp(venv)
            if stamp.get("inputs") == inputs_hash(ROOT):
                extras = sorted({*extras, *stamp.get("extras", [])})  # type: ignore[misc]
            (venv / STAMP).unlink(missing_ok=True)
            installer = find_installer(venv, [])
        for attempt in (1, 2):
            if installer is None:
                version = ".".join(map(str, sys.version_info[:3]))
                say(f"making .venv with Python {version} ({reason or 'nothing can install into it'}).")
                installer = create(venv, lock)
            say(f"installing into .venv: {', '.join(extras)}. The first time takes a minute or two.")
            install(venv, extras, installer, lock)
            error = broken_imports(venv, extras)
            if error is None:
                write_stamp(ROOT, venv, extras)
                say(f"ready after {time.monotonic() - started:.0f} s.")
                return
            if attempt == 1:
                reason, installer = f"an import failed: {error}", None
        raise BootstrapError(f"what was just installed does not import: {error}")


def main(arguments: Sequence[str]) -> int:
    options = {word for word in arguments if word.startswith("--")}
    extras = [word for word in arguments if word not in options]
    known = {"--exactly-this-python", "--only-look", *MODULES}
    unknown = [word for word in arguments if word not in known]
    if unknown:
        say(f"unknown word {unknown[0]!r}; there are {', '.join(MODULES)}.")
        return 2
    if sys.version_info < MINIMUM:
        say("Python {}.{} or newer is needed, this is {}.".format(*MINIMUM, sys.version.split()[0]))
        return 1
    extras = sorted({"base", *extras})
    if "--only-look" in options:
        print("current" if is_current(ROOT, ROOT / ".venv", extras) else "stale")
        return 0
    try:
        ensure(extras, "--exactly-this-python" in options)
    except BootstrapError as error:
        say(str(error))
        return 1
    except OSError as error:
        say(f".venv cannot be prepared: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted; the next make starts over.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
