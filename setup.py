"""The compiled kernels, optional: where they do not build, NumPy does their work. All else is in pyproject.toml."""

from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext


class BuildKernels(build_ext):
    """With OpenMP where the compiler has it, without where it has not."""

    def build_extension(self, ext: Extension) -> None:
        if self.compiler.compiler_type == "msvc":
            attempts = [(["/O2", "/openmp"], []), (["/O2"], [])]
        else:
            common = ["-O3", "-fno-math-errno", "-fno-trapping-math"]
            attempts = [([*common, "-fopenmp"], ["-fopenmp"]), (common, [])]
        for compile_arguments, link_arguments in attempts[:-1]:
            ext.extra_compile_args, ext.extra_link_args = compile_arguments, link_arguments
            try:
                super().build_extension(ext)
                return
            except Exception as error:  # whatever a compiler may say; the next attempt is plainer
                self.announce(f"kernels with {compile_arguments} did not build ({error}); trying without OpenMP", 3)
        ext.extra_compile_args, ext.extra_link_args = attempts[-1]
        super().build_extension(ext)


setup(
    ext_modules=[
        Extension(
            "angsync.kernels._native",
            sorted(glob("src/angsync/kernels/**/*.c", recursive=True)),
            depends=sorted(glob("src/angsync/kernels/**/*.h", recursive=True)),
            include_dirs=["src/angsync/kernels"],
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernels},
)
