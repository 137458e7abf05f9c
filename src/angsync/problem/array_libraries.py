"""Arrays of other libraries: whose they are, where they lie, and the way in and out without a copy.

The only file that knows the names of array libraries. A library is recognized by the module of the array's type, so
nothing is imported that the caller has not imported already; CuPy alone is imported on purpose, in :func:`cupy`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from angsync.errors import InputError

# the first part of the module of an array's type, and the library that it belongs to
_LIBRARIES = {"numpy": "numpy", "cupy": "cupy", "torch": "torch", "jax": "jax", "jaxlib": "jax"}


def library_of(array: Any) -> str | None:
    """``"numpy"``, ``"cupy"``, ``"torch"``, ``"jax"``, or None for anything else."""
    root = type(array).__module__.partition(".")[0]
    name = _LIBRARIES.get(root)
    if name == "torch" and not isinstance(array, sys.modules["torch"].Tensor):
        return None
    return name if hasattr(array, "shape") and hasattr(array, "dtype") else None


def is_foreign(array: Any) -> bool:
    """Whether this is an array of CuPy, torch or JAX."""
    return library_of(array) in ("cupy", "torch", "jax")


_STORES = ("zarr", "h5py", "dask", "xarray")  # libraries whose arrays are read when somebody asks for a part


DATASETS = ("zarr", "dask", "xarray")
"""Those whose stacks give an ``xarray.Dataset``."""


def store_library(array: Any) -> str | None:
    """``"zarr"``, ``"h5py"``, ``"dask"``, ``"xarray"``, or None: whose array this is, in memory or not."""
    root = type(array).__module__.partition(".")[0]
    return root if root in _STORES else None


def is_stored(array: Any) -> bool:
    """Whether this is an array that is read part by part: of zarr, h5py, dask or xarray, or another that has chunks.

    What xarray holds in memory already is an array like any other.
    """
    if isinstance(array, np.ndarray) or not (hasattr(array, "shape") and hasattr(array, "dtype")):
        return False
    if not hasattr(array, "__getitem__") or library_of(array) is not None:
        return False
    of_store = type(array).__module__.partition(".")[0] in _STORES
    return (of_store or getattr(array, "chunks", None) is not None) and not getattr(array, "_in_memory", False)


def chunk_shape(array: Any) -> tuple[int, ...] | None:
    """The sides of the parts in which a stored array is kept, the largest where they differ; None where it has none."""
    chunks = getattr(array, "chunks", None)
    if not isinstance(chunks, tuple) or len(chunks) != len(array.shape):
        return None
    return tuple(int(max(side)) if isinstance(side, tuple) else int(side) for side in chunks)


def is_stack(data: Any) -> bool:
    """Whether this is an array of more than two axes, of whatever library."""
    return getattr(data, "ndim", 2) > 2


def on_cuda(array: Any) -> bool:
    """Whether the array lies in the memory of a CUDA device."""
    library = library_of(array)
    if library == "cupy":
        return True
    if library == "torch":
        return bool(array.is_cuda)
    if library == "jax":
        return all(device.platform in ("gpu", "cuda") for device in array.devices())
    return False


@functools.cache
def cupy() -> Any:
    """The module CuPy where it is installed and sees a device, else None."""
    try:
        module = importlib.import_module("cupy")
        return module if module.cuda.runtime.getDeviceCount() > 0 else None
    except Exception:
        # ImportError, or CuPy's own error for a missing driver; either way there is no CuPy to use
        return None


def namespace(array: Any) -> Any:
    """The module with the functions (``where``, ``sum``, ``conj``, ...) for this array."""
    library = library_of(array)
    if library == "jax":
        return importlib.import_module("jax.numpy")
    if library is not None:
        return sys.modules[library]
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    raise InputError(f"a {type(array).__name__} is not an array of NumPy, CuPy, torch, JAX or the array API.")


def dtype_name(array: Any) -> str:
    """The name of the dtype as NumPy spells it: ``"complex64"``."""
    return str(array.dtype).rpartition(".")[2]


def as_type(array: Any, name: str) -> Any:
    """The array with the dtype of this name; itself where it has it already."""
    if dtype_name(array) == name:
        return array
    if library_of(array) == "torch":
        return array.to(getattr(namespace(array), name))
    if hasattr(array, "astype"):
        return array.astype(name)
    space = namespace(array)
    return space.astype(array, getattr(space, name))


def double_precision(array: Any) -> contextlib.AbstractContextManager[Any]:
    """A context in which this array's library computes in double precision: JAX does not unless told to."""
    if library_of(array) != "jax":
        return contextlib.nullcontext()
    jax = sys.modules["jax"]
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return importlib.import_module("jax.experimental").enable_x64(True)


def to_numpy(array: Any) -> NDArray:
    """The same numbers as a NumPy array: without a copy where they lie in the memory of the host."""
    library = library_of(array)
    if library == "cupy":
        return array.get()
    if library == "torch":
        return array.detach().resolve_conj().resolve_neg().cpu().numpy()
    return np.asarray(array)


def from_numpy(numbers: NDArray, like: Any) -> Any:
    """``numbers`` as an array of the library, and on the device, of ``like``; a NumPy array stays what it is."""
    library = library_of(like)
    if library == "cupy":
        with like.device:
            return sys.modules["cupy"].asarray(numbers)
    if library == "torch":
        writable = numbers if numbers.flags.writeable and numbers.flags.c_contiguous else np.array(numbers)
        return sys.modules["torch"].from_numpy(writable).to(like.device)
    if library == "jax":
        with double_precision(like):
            return sys.modules["jax"].device_put(numbers, like.sharding.device_set.copy().pop())
    if library is None and hasattr(like, "__array_namespace__"):
        return like.__array_namespace__().asarray(numbers)
    return numbers


def as_cupy(array: Any) -> Any:
    """The same memory as a CuPy array, by DLPack; None where there is no CuPy or the array is not on a CUDA device."""
    if not on_cuda(array) or cupy() is None:
        return None
    if library_of(array) == "cupy":
        return array
    if library_of(array) == "torch":
        array = array.detach().resolve_conj().resolve_neg()
    return cupy().from_dlpack(array)


def from_cupy(array: Any, like: Any) -> Any:
    """A CuPy array as an array of the library of ``like``, by DLPack: the same memory."""
    library = library_of(like)
    if library == "torch":
        return sys.modules["torch"].from_dlpack(array)
    if library == "jax":
        with double_precision(like):
            return namespace(like).from_dlpack(array)
    return array


def joined(parts: list[Any]) -> Any:
    """Arrays of one library, one after the other along the first axis."""
    library, space = library_of(parts[0]), namespace(parts[0])
    if library == "torch":
        return space.cat(parts)
    return space.concat(parts) if library is None else space.concatenate(parts)


def diagonal(matrix: Any) -> Any:
    """The diagonal of a matrix of any library."""
    space = namespace(matrix)
    return space.linalg.diagonal(matrix) if library_of(matrix) is None else space.diagonal(matrix)


def strict_triangle(matrix: Any, *, upper: bool) -> Any:
    """The matrix with zeros on its diagonal and below it, or above it."""
    space = namespace(matrix)
    if library_of(matrix) == "torch":
        return space.triu(matrix, diagonal=1) if upper else space.tril(matrix, diagonal=-1)
    return space.triu(matrix, k=1) if upper else space.tril(matrix, k=-1)


def submatrix(matrix: Any, index: Any) -> Any:
    """The rows and columns with these numbers, an array of the same library."""
    if library_of(matrix) is None:  # the array API has take, and no indexing by one array alone
        space = namespace(matrix)
        return space.take(space.take(matrix, index, axis=0), index, axis=1)
    return matrix[index][:, index]
