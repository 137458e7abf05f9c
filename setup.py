"""The compiled kernels, optional: where they do not build, NumPy does their work. All else is in pyproject.toml."""

import platform
import re
import sys
import sysconfig
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# All kernels are compiled once per set of instructions, into a module of its own; library.py loads one of them.
SETS = {"_native": []}
if platform.machine() == "x86_64":  # not on Windows, "AMD64": its GCC aligns the stack to 16 bytes, vectors need more
    SETS["_native_avx2"] = ["-mavx2", "-mfma"]
    SETS["_native_avx512"] = [f"-mavx512{part}" for part in ("f", "dq", "vl", "bw")] + ["-mprefer-vector-width=512"]


class BuildKernels(build_ext):
    """With OpenMP where the compiler has it, without where it has not."""

    def build_extensions(self) -> None:
        self.parallel = None  # the object files of all sets have the same names
        super().build_extensions()

    def build_extension(self, ext: Extension) -> None:
        if self.compiler.compiler_type == "msvc":
            attempts = [(["/O2", "/std:c11", "/openmp"], []), (["/O2", "/std:c11"], [])]
        else:
            common = ["-O3", "-fno-math-errno", "-fno-trapping-math", "-fopenmp-simd", *SETS[ext.name.split(".")[-1]]]
            attempts = [([*common, "-fopenmp"], ["-fopenmp"]), (common, [])]
        for attempt in attempts:
            ext.extra_compile_args, ext.extra_link_args = attempt
            try:
                super().build_extension(ext)
                return
            except Exception as error:  # whatever a compiler may say; the next attempt is plainer
                print(f"angsync: the kernels did not build with {attempt[0]}: {error}", file=sys.stderr)
                if attempt is attempts[-1]:
                    print(f"angsync: going on without {ext.name}: slower; see `angsync info`", file=sys.stderr)
                    raise

    def copy_extensions_to_source(self) -> None:
        """In place: without kernels of another name beside them, which Python would go on loading first."""
        super().copy_extensions_to_source()
        for ext in self.extensions:
            place = Path("src", *ext.name.split(".")[:-1])
            built = place / Path(self.get_ext_filename(ext.name)).name
            for older in place.glob(f"{ext.name.split('.')[-1]}.*"):
                if built.exists() and older.suffix in (".so", ".pyd") and older.name != built.name:
                    older.unlink()


# Windows exports no function that is not named. These are the ones that Python asks for.
CALLED = {
    name
    for path in glob("src/angsync/kernels/**/*.py", recursive=True)
    for name in re.findall(r'\bfunction\(\s*"(\w+)"', Path(path).read_text(encoding="utf-8"))
    if not name.startswith("omp_")
}
# The kernels are called through ctypes: of Python they need no more than its stable interface, so that one wheel does
# for every version from 3.11 on. Builds of Python without the lock do not have that interface.
STABLE = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            f"angsync.kernels.{name}",
            sorted(glob("src/angsync/kernels/**/*.c", recursive=True)),
            depends=sorted(glob("src/angsync/kernels/**/*.h", recursive=True)),
            include_dirs=["src/angsync/kernels"],
            export_symbols=sorted(CALLED),
            define_macros=[("MODULE", name), *([("Py_LIMITED_API", "0x030B0000")] if STABLE else [])],
            py_limited_api=STABLE,
            optional=True,
        )
        for name in SETS
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
    cmdclass={"build_ext": BuildKernels},
)
