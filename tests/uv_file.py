"""A UVFITS file written by hand, as AIPS memo 117 has it: nothing of pyuvdata, which reads it in the tests."""

from __future__ import annotations

import numpy as np

FREQUENCY = 230e9
JULIAN_DAY = 2457853.5


def write_uvfits(path, table):
    """The table of a simulation, hours as times, equal RR and LL with half the weight each."""
    from astropy.io import fits

    names = sorted({*table["T1"], *table["T2"]})
    place = {name: k + 1 for k, name in enumerate(names)}
    value = table["Iamp(Jy)"] * np.exp(1j * np.deg2rad(table["Iphase(d)"]))
    weight = 1 / table["Isigma(Jy)"] ** 2 / 2
    # complex (real, imaginary, weight), polarization, frequency, right ascension, declination, backwards
    data = np.zeros((value.size, 1, 1, 1, 2, 3), dtype=np.float32)
    for hand in range(2):
        data[:, 0, 0, 0, hand] = np.stack([value.real, value.imag, weight], axis=1)
    baseline = np.array([256 * place[a] + place[b] for a, b in zip(table["T1"], table["T2"], strict=True)])
    day = table["time(UTC)"] / 24
    groups = fits.GroupData(
        data, parnames=["UU", "VV", "WW", "DATE", "BASELINE"], bitpix=-32,
        pardata=[table["U(lambda)"] / FREQUENCY, table["V(lambda)"] / FREQUENCY, 0 * day, day, baseline],
    )  # fmt: skip
    hdu = fits.GroupsHDU(groups)
    header = hdu.header
    axes = [
        ("COMPLEX", 1, 1, 1),
        ("STOKES", -1, -1, 1),
        ("FREQ", FREQUENCY, 2e9, 1),
        ("RA", 187.7, 1, 1),
        ("DEC", 12.4, 1, 1),
    ]
    for k, (kind, start, step, pixel) in enumerate(axes, start=2):
        header[f"CTYPE{k}"], header[f"CRVAL{k}"], header[f"CDELT{k}"], header[f"CRPIX{k}"] = kind, start, step, pixel
    for k in range(1, 6):
        header[f"PSCAL{k}"], header[f"PZERO{k}"] = 1.0, 0.0
    header["PZERO4"] = JULIAN_DAY
    header["OBJECT"], header["TELESCOP"], header["INSTRUME"] = "SIM", "SIM", "SIM"
    header["OBSRA"], header["OBSDEC"], header["EQUINOX"], header["BUNIT"] = 187.7, 12.4, 2000.0, "JY"
    n = len(names)
    rng = np.random.default_rng(0)
    columns = [
        fits.Column("ANNAME", "8A", array=np.array(names)),
        fits.Column("STABXYZ", "3D", array=6e6 * rng.standard_normal((n, 3))),
        fits.Column("NOSTA", "1J", array=np.arange(1, n + 1)),
        fits.Column("MNTSTA", "1J", array=np.zeros(n, dtype=int)),
        fits.Column("STAXOF", "1E", array=np.zeros(n)),
        fits.Column("POLTYA", "1A", array=np.full(n, "R")),
        fits.Column("POLAA", "1E", array=np.zeros(n)),
        fits.Column("POLCALA", "1E", array=np.zeros(n)),
        fits.Column("POLTYB", "1A", array=np.full(n, "L")),
        fits.Column("POLAB", "1E", array=np.zeros(n)),
        fits.Column("POLCALB", "1E", array=np.zeros(n)),
    ]
    antennas = fits.BinTableHDU.from_columns(columns, name="AIPS AN")
    antennas.header.update(
        EXTVER=1, ARRAYX=0.0, ARRAYY=0.0, ARRAYZ=0.0, FREQ=FREQUENCY, GSTIA0=0.0, DEGPDY=360.9856, RDATE="2017-04-10",
        POLARX=0.0, POLARY=0.0, UT1UTC=0.0, DATUTC=0.0, TIMSYS="UTC", ARRNAM="SIM", FRAME="ITRF", XYZHAND="RIGHT",
        NUMORB=0, NOPCAL=0, FREQID=-1, IATUTC=37.0,
    )  # fmt: skip
    fits.HDUList([hdu, antennas]).writeto(path)
    return path
