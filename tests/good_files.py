"""Small valid files of every format that angsync reads; needs all optional libraries."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np


def write_good_files(folder: Path) -> list[Path]:
    """Write small valid files of every format; needs all optional libraries."""
    import scipy.io
    import scipy.sparse

    import angsync as ang
    from angsync.applications import beam_optics
    from angsync.io import write_matrix, write_measurements

    rng = np.random.default_rng(0)
    n = 6
    i, j = np.triu_indices(n, 1)
    angle, weight = rng.uniform(-3, 3, i.size), rng.uniform(0.5, 2, i.size)
    C = np.zeros((n, n), complex)
    C[i, j] = weight * np.exp(1j * angle)
    C += C.conj().T
    numbers = ang.Measurements(i, j, angle, weight, n=n + 2)
    names = [f"node {k} é" for k in range(n)]
    named = ang.Measurements(i, j, value=C[i, j], labels=names)
    for suffix in ("csv", "npz", "parquet"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ang.errors.AngsyncWarning)  # tables leave out isolated nodes
            write_measurements(numbers, folder / f"numbers.{suffix}")
        write_measurements(named, folder / f"named.{suffix}", truth=np.zeros(n) if suffix == "npz" else None)
    (folder / "plain.tsv").write_text(
        "i\tj\tangle\n" + "".join(f"{a}\t{b}\t{c}\n" for a, b, c in zip(i, j, angle, strict=True))
    )
    (folder / "plain.txt").write_text(
        "i j angle\n" + "".join(f"p{a} p{b} {c}\n" for a, b, c in zip(i, j, angle, strict=True))
    )
    write_matrix(C, folder / "matrix.npz")
    write_matrix(C, folder / "matrix.npy")
    np.save(folder / "real.npy", C.real.astype(np.float32))
    np.save(folder / "phases.npy", np.exp(1j * angle[:n]))
    np.savez_compressed(folder / "packed.npz", i=np.array(names)[i], j=np.array(names)[j], angle=angle)
    for kind in ("csr", "csc", "coo", "bsr", "dia"):
        scipy.sparse.save_npz(
            folder / f"{kind}.npz", scipy.sparse.csr_array(C).asformat(kind), compressed=kind == "coo"
        )
    variables = {"i": i + 1.0, "j": j + 1, "angle": angle, "weight": weight, "n": n, "note": "text"}
    scipy.io.savemat(folder / "edges.mat", variables)
    scipy.io.savemat(folder / "packed.mat", {"C": C, "other": {"a": 1}}, do_compression=True)
    scipy.io.savemat(folder / "sparse.mat", {"C": scipy.sparse.csc_array(C)})
    scipy.io.savemat(folder / "text.mat", {"i": names[:1] * 2, "j": names[1:3], "angle": angle[:2]})
    scipy.io.savemat(folder / "old.mat", {k: v for k, v in variables.items() if k != "note"}, format="4")
    vertices = "".join(f"VERTEX_SE2 {k} {k} 0 0.1\n" for k in range(n))
    edges = "".join(
        f"EDGE_SE2 {a} {b} 1 0.5 {c} 2 0 0 3 0 {w}\n" for a, b, c, w in zip(i, j, angle, weight, strict=True)
    )
    (folder / "graph.g2o").write_text(vertices + "FIX 0\n" + edges)
    scipy.io.mmwrite(folder / "games.mtx", scipy.sparse.coo_array(np.triu(np.ones((n, n)), 1)))
    beam_optics.simulate(8, rng=0).save(folder)
    _write_results(ang, folder, numbers, named, C, rng)
    _write_parquet(folder, i, j, angle, names)
    _write_hdf5(folder, i, j, angle, names, C)
    return sorted(folder.iterdir())


def _write_results(ang, folder: Path, numbers, named, C, rng) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ang.synchronize(numbers).save(folder / "phases.csv")
        ang.synchronize(numbers).save(folder / "result.npz")
        ang.synchronize(named, solver=ang.Robust()).save(folder / "robust.npz")
        ang.synchronize(numbers, anchors={0: 0.3}).save(folder / "anchored.npz")
        ang.synchronize(np.stack([C, C.conj()])).save(folder / "batch.npz")


def _write_parquet(folder: Path, i, j, angle, names) -> None:
    import pyarrow
    import pyarrow.parquet

    texts = [pyarrow.array([names[k] for k in end]).dictionary_encode() for end in (i, j)]
    table = pyarrow.table({"i": texts[0], "j": texts[1], "angle": angle})
    for compression in ("zstd", "gzip", "none"):
        pyarrow.parquet.write_table(table, folder / f"{compression}.parquet", compression=compression)


def _write_hdf5(folder: Path, i, j, angle, names, C) -> None:
    import h5py

    for name, version in (("early.h5", "earliest"), ("late.h5", "latest")):
        with h5py.File(folder / name, "w", libver=version) as file:
            file["i"], file["j"], file["n"] = i, j, 6
            file.create_dataset("angle", data=angle, chunks=(4,), compression="gzip", shuffle=True, fletcher32=True)
    with h5py.File(folder / "texts.h5", "w") as file:
        file["i"], file["j"], file["angle"] = [names[k] for k in i], [names[k] for k in j], angle
    with h5py.File(folder / "matrix.h5", "w") as file:
        file["C"] = C
    with h5py.File(folder / "seven.mat", "w", userblock_size=512) as file:
        group = file.create_group("C")
        group.attrs["MATLAB_sparse"] = np.uint64(6)
        group["jc"], group["ir"], group["data"] = np.arange(0, 36, 5)[:7], np.tile(np.arange(5), 6), np.ones(30)
    with open(folder / "seven.mat", "r+b") as stream:
        stream.write(b"MATLAB 7.3 MAT-file".ljust(512))
