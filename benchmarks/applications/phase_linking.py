"""InSAR phase linking: accuracy, error bars, few looks, speed beside dolphin, memory, and a real network.

Stacks are simulated with seeds that nothing was chosen on. dolphin runs in the environment of ``--peers-python`` (its
import of GDAL is answered by a stub: only its phase linking is called), in a process with a time limit, because its EMI
does not end on some inputs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

from angsync.applications import phase_linking
from angsync.errors import AngsyncWarning
from applications import Row

SETTINGS = {  # gamma_0, gamma_inf, tau; rms in degrees that was asked for, of EVD, EMI, MLE and MLE with beta 0.1
    "0.99, 0.95, 72 days": ((0.99, 0.95, 72.0), (1.11, 1.11, 1.11, 1.10)),
    "0.99, 0.3, 72 days": ((0.99, 0.3, 72.0), (6.83, 6.65, 6.65, 6.27)),
    "0.8, 0.1, 50 days": ((0.8, 0.1, 50.0), (13.6, 14.0, 14.0, 13.4)),
}
DATES, LOOKS, TIME_LIMIT = 30, 121, 120


def coherence(values: tuple[float, float, float], **how: object) -> np.ndarray:
    gamma_0, gamma_inf, tau = values
    return phase_linking.coherence_of(DATES, gamma_0=gamma_0, gamma_inf=gamma_inf, tau=tau, **how)


def sampled(G: np.ndarray, looks: int, count: int, seed: int) -> np.ndarray:
    """Sample coherences (count, n, n) of Gaussian looks; all true phases are 0."""
    rng = np.random.default_rng(seed)
    root = np.linalg.cholesky(G)
    found = []
    for _ in range(0, count, 500):
        noise = rng.standard_normal((2, min(500, count), len(G), looks)) / np.sqrt(2)
        x = root @ (noise[0] + 1j * noise[1])
        found.append(x @ x.conj().swapaxes(1, 2) / looks)
    return np.concatenate(found)[:count]


def linked(C: np.ndarray, looks: int, method: str = "mle", beta: float = 0.1) -> phase_linking.Linked:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AngsyncWarning)
        return phase_linking.link_covariance(C, looks=looks, method=method, beta=beta)


def rms(result: phase_linking.Linked) -> float:
    return float(np.degrees(np.sqrt(np.mean(result.phase[:, 1:] ** 2))))


def cramer_rao(G: np.ndarray, looks: int) -> np.ndarray:
    """Degrees, of every date against the first one."""
    information = 2 * looks * (G * np.linalg.inv(G) - np.eye(len(G)))
    return np.degrees(np.sqrt(np.diag(np.linalg.inv(information[1:, 1:]))))


def accuracy(count: int) -> list[Row]:
    rows = []
    chance = 0.35 / np.sqrt(count)  # relative standard error of an rms of so many pixels, whose dates err together
    for name, (values, asked) in SETTINGS.items():
        G = coherence(values)
        C = sampled(G, LOOKS, count, 1107)
        found = [
            rms(linked(C, LOOKS, method, beta))
            for method, beta in (("evd", 0.1), ("emi", 0.0), ("mle", 0.0), ("mle", 0.1), ("emi", 0.1))
        ]
        bound = float(np.sqrt(np.mean(cramer_rao(G, LOOKS) ** 2)))
        rows.append(
            Row(
                f"rms in degrees, coherence {name}, {count} pixels, seed 1107",
                f"MLE beta 0.1: {found[3]:.2f}; MLE {found[2]:.2f}",
                f"EVD {found[0]:.2f}, EMI {found[1]:.2f}, EMI beta 0.1 {found[4]:.2f}; Cramer-Rao {bound:.2f}",
                " / ".join(f"{x:.2f}" for x in asked) + " (EVD, EMI, MLE, MLE beta 0.1) within 2 %, and chance",
                all(ours <= (1.02 + 2 * chance) * wanted for ours, wanted in zip(found, asked, strict=False)),
                "regularization matters more than exactness: EMI with beta does as well",
            )
        )
    return rows


def few_looks(count: int) -> list[Row]:
    rows = []
    for name, (values, _) in SETTINGS.items():
        worst, words = 0.0, []
        for looks in (10, 20, 30, 45, 60):
            C = sampled(coherence(values), looks, count, 1200 + looks)
            ours, evd = rms(linked(C, looks)), rms(linked(C, looks, "evd"))
            emi = rms(linked(C, looks, "emi", 0.0))
            worst = max(worst, ours / min(evd, emi))
            words.append(f"{looks}: {ours:.1f} (EVD {evd:.1f}, EMI {emi:.1f})")
        rows.append(
            Row(f"few looks, rms in degrees, coherence {name}, {count} pixels", "; ".join(words), "",
                "within 3 % of the best of EVD and EMI", worst <= 1.03, f"largest ratio {worst:.3f}")
        )  # fmt: skip
    return rows


def coverage(count: int) -> list[Row]:
    models = {"stationary": {}, "bad-dates": {"strength": 0.6}, "season": {"strength": 0.6}, "event": {"strength": 0.6}}
    rows = []
    for model, how in models.items():
        G = coherence((0.95, 0.35, 72.0), model=model, **how)
        result = linked(sampled(G, LOOKS, count, 1300), LOOKS)
        hit = (np.abs(result.phase) <= 1.96 * result.standard_error)[:, 1:]
        good = cramer_rao(G, LOOKS) < 10
        each = hit.mean(axis=0)[good]
        stationary = model == "stationary"
        met = 0.93 <= hit[:, good].mean() <= 0.97 if stationary else bool(each.min() >= 0.9 and each.max() <= 0.99)
        rows.append(
            Row(
                f"95 % intervals, {model}, {count} pixels, seed 1300, {int(good.sum())} dates with Cramer-Rao below 10 "
                "degrees",
                f"{hit[:, good].mean():.3f}; dates {each.min():.3f} to {each.max():.3f}",
                f"plug-in Cramer-Rao {plug_in(result, sampled(G, LOOKS, count, 1300), good):.3f}",
                "93 to 97 %" if stationary else "90 to 99 % for every date",
                met,
            )
        )
    return rows


def plug_in(result: phase_linking.Linked, C: np.ndarray, good: np.ndarray) -> float:
    """Coverage of the Cramer-Rao bound with sample coherences for the true ones, as other programs have it."""
    power = np.sqrt(np.einsum("kii->ki", C).real)
    G = np.abs(C) / power[:, :, None] / power[:, None, :]
    information = 2 * LOOKS * (G * np.linalg.inv(G) - np.eye(DATES))[:, 1:, 1:]
    variance = np.einsum("kii->ki", np.linalg.pinv(information, hermitian=True))
    return float((np.abs(result.phase[:, 1:]) <= 1.96 * np.sqrt(np.maximum(variance, 0)))[:, good].mean())


DOLPHIN = """
import json, sys, time
from unittest import mock
sys.modules.update({name: mock.MagicMock() for name in ("osgeo", "osgeo.gdal", "osgeo.osr", "osgeo.ogr",
                                                        "osgeo_utils", "osgeo_utils.gdal_calc")})
import numpy as np
from dolphin.phase_link._core import process_coherence_matrices
C = np.load(sys.argv[1])
seconds, errors = [], []
for k in range(8):
    begin = time.perf_counter()
    estimate = np.asarray(process_coherence_matrices(C[None], beta=float(sys.argv[2]), num_looks=121,
                                                     compute_crlb=sys.argv[3] == "1")[0])
    seconds.append(time.perf_counter() - begin)
phase = np.angle(estimate[0])
print(json.dumps([min(seconds[1:]), float(np.degrees(np.sqrt(np.mean(phase[:, 1:] ** 2))))]))
"""


def speed(count: int) -> list[Row]:
    """All cores for both, in one run."""
    rows = []
    for name, (values, _) in list(SETTINGS.items())[:2]:
        C = sampled(coherence(values), LOOKS, count, 1400).astype(np.complex64)
        ours = []
        for _ in range(12):  # of some 30 ms, many: other processes take some of them
            begin = time.perf_counter()
            result = linked(C, LOOKS)
            ours.append(time.perf_counter() - begin)
        what = f"pixels a second from coherences, with error bars and proof, coherence {name}, {count} pixels"
        mine = count / min(ours[1:])
        peer, ratio, note = _dolphin(C, mine)
        found = f"{mine:,.0f} ({rms(result):.2f} degrees)"
        met = None if ratio is None else ratio >= 5
        rows.append(Row(what, found, peer, "at least 5 times dolphin's EMI", met, note))
    return rows


def _dolphin(C: np.ndarray, mine: float) -> tuple[str, float | None, str]:
    """Its EMI with one process a core, each with its share of the pixels, all at once; their speeds are added.

    With the threads of its own it did not end within 60 or 120 s in nine tries on two idle cores, and did in two; why
    was not looked for. Held to one core it has always ended, so one process a core is its best way.
    """
    python = os.environ.get("ANGSYNC_PEERS_PYTHON")
    if not python:
        return "dolphin was not run (--peers-python)", None, ""
    cores = sorted(os.sched_getaffinity(0))
    plain = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    running = []
    with tempfile.TemporaryDirectory() as folder:
        for core, part in zip(cores, np.array_split(C, len(cores)), strict=True):
            np.save(Path(folder) / f"C{core}.npy", part)
            command = ["taskset", "-c", str(core), python, "-c", DOLPHIN, f"{folder}/C{core}.npy", "0.1", "1"]
            running.append(
                subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=plain)
            )
        try:
            ended = [process.communicate(timeout=TIME_LIMIT) for process in running]
        except subprocess.TimeoutExpired:
            return f"dolphin's EMI did not end within {TIME_LIMIT} s", None, "its own loop: no figure for it here"
        finally:
            for process in running:
                process.kill()
    failed = [text for process, (_, text) in zip(running, ended, strict=True) if process.returncode]
    if failed:
        return f"dolphin failed: {failed[0].strip().splitlines()[-1][:120]}", None, ""
    found = [json.loads(text.strip().splitlines()[-1]) for text, _ in ended]
    rate = len(C) / len(cores) * sum(1 / seconds for seconds, _ in found)
    error = float(np.sqrt(np.mean([error**2 for _, error in found])))
    return (
        f"dolphin EMI beta 0.1 with its CRLB, {len(cores)} processes of one core: {rate:,.0f} ({error:.2f} degrees)",
        mine / rate,
        f"{mine / rate:.1f} times",
    )


def empty() -> Row:
    stack = phase_linking.simulate(10, (40, 40), rng=1500).slc
    stack[:, :10], stack[:, 20:25, 20:25], stack[:, 30, 30] = np.nan, 0, 7
    result = phase_linking.link(stack, 7)
    hollow = np.zeros((40, 40), dtype=bool)
    hollow[:10], hollow[20:25, 20:25], hollow[30, 30] = True, True, True
    wrong = int(result.certified[hollow].sum())
    return Row("empty, zero and constant pixels certified", f"{wrong} of {int(hollow.sum())}", "", "none", wrong == 0)


def chunks() -> Row:
    stack = phase_linking.simulate(10, (60, 70), rng=1550).slc
    whole = phase_linking.link(stack, 9)
    parts = [phase_linking.link(stack, 9, chunk=side) for side in (7, 32)]
    names = ("phase", "standard_error", "temporal_coherence", "certified", "status")
    same = all(np.array_equal(vars(whole)[name], vars(part)[name], equal_nan=True) for part in parts for name in names)
    return Row("images in chunks of 7, of 32 and whole: the same bits", "yes" if same else "no", "", "the same", same)


MEMORY = """
import json, resource, sys
from angsync.applications import phase_linking
phase_linking.link(phase_linking.simulate(12, (70, 70)).slc, output=sys.argv[2] + '.first.zarr', chunk=64)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
linked = phase_linking.link(sys.argv[1], output=sys.argv[2], chunk=64)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([(after - before) / 1024, linked.counts["CERTIFIED"] / linked.pixels]))
"""


def memory(side: int) -> Row:
    what = f"memory for a stack of 12 dates, {side} x {side} pixels, read and written chunk by chunk (64)"
    with tempfile.TemporaryDirectory() as folder:
        stack = np.lib.format.open_memmap(f"{folder}/slc.npy", mode="w+", dtype=np.complex64, shape=(12, side, side))
        part = phase_linking.simulate(12, (100, 100), rng=1600).slc
        for row in range(0, side, 100):
            stack[:, row : row + 100] = np.tile(part, (1, 1, side // 100))
        stack.flush()
        size = stack.nbytes / 2**20
        del stack
        command = [sys.executable, "-c", MEMORY, f"{folder}/slc.npy", f"{folder}/phase.zarr"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return Row(what, "not run: " + done.stderr.strip().splitlines()[-1][:120], "", "a tenth of the stack")
    grown, certified = json.loads(done.stdout.strip().splitlines()[-1])
    return Row(what, f"{grown:.0f} MB more for {size:.0f} MB ({100 * certified:.2f} % certified)", "",
               "a tenth of the stack", grown <= size / 10 if size > 200 else None,
               "some 20 MB whatever the size: 19 MB for 59 MB and for 132 MB")  # fmt: skip


def network() -> Row:
    folder = os.environ.get("ANGSYNC_DATA")
    what = "real network cropA, 30 interferograms, 13 dates: weighted residual"
    if not folder:
        return Row(what, "not run: set ANGSYNC_DATA")
    with np.load(Path(folder) / "insar" / "cropA_network.npz") as data:
        phase, weight, edges = data["phase"].astype(float), data["coherence"].astype(float), data["edges"]
    result = phase_linking.link_network(phase, weight, edges)
    values = phase - result.constants[:, None, None]
    w = np.where(weight > 0, weight, 0) ** 2
    w /= 1 - w
    A = np.zeros((len(edges), 13))
    A[np.arange(len(edges)), edges[:, 0]], A[np.arange(len(edges)), edges[:, 1]] = 1, -1
    flat, ww = values.reshape(len(edges), -1), w.reshape(len(edges), -1)
    theta = np.stack(
        [np.linalg.lstsq(np.sqrt(ww[:, p, None]) * A, np.sqrt(ww[:, p]) * flat[:, p])[0] for p in range(flat.shape[1])]
    )
    misfit = flat - A @ theta.T
    squares = float(np.sqrt((ww * misfit**2).sum() / ww.sum()))
    certified = int(result.certified.sum())
    return Row(what, f"{result.weighted_residual:.4f} rad ({certified} of {result.solved} pixels certified)",
               f"least squares on unwrapped phases {squares:.4f} rad", "0.2413 rad",
               abs(result.weighted_residual - 0.2413) < 2e-4, "we do not win here")  # fmt: skip


def rows(quick: bool) -> list[Row]:
    """All figures."""
    count = 200 if quick else 1000
    found = [*accuracy(count if quick else 4 * count), *few_looks(count // 2), *coverage(count), *speed(1000)]
    return [*found, empty(), chunks(), memory(400 if quick else 1600), network()]
