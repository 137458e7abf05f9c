"""The CUDA sources of this folder as text, for the compiler of CuPy."""

from __future__ import annotations

from importlib import resources


def source(*names: str) -> str:
    """The files of these names, one after the other."""
    folder = resources.files("angsync.kernels.cuda")
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)
