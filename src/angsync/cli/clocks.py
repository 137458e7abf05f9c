"""``angsync clocks``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from angsync.cli import options
from angsync.cli.application import run_application
from angsync.cli.options import argument, column, option
from angsync.cli.outcome import Output, halves
from angsync.cli.root import app

_FILES = "Tables of links (csv, parquet) or logs of time daemons; HOST=FILE names the host of a log."
_LINKS = "Write the links with residuals and bad ones marked here (csv, npz, parquet)."
_FORMAT = "table, timestamps (T1 to T4), rawstats or peerstats (ntpd), chrony, ptp4l; else by the content."
_UNIT = "ns, us, ms or s: of the offsets of a table; logs are converted to it."
_PERIOD = "Offsets are known modulo this, in the same unit; without it they do not wrap."
_SIGMA = "Standard deviation of an offset; estimated from the cycles unless given."
_NAME = "Another name for an address; may be repeated."


def _plain(unit: str | None) -> str | None:
    """Microseconds with either of the two letters mu that keyboards have."""
    return None if unit is None else unit.replace("\N{MICRO SIGN}", "u").replace("\N{GREEK SMALL LETTER MU}", "u")


@app.command(short_help="Offsets and skews of clocks from offsets between pairs.")
def clocks(
    files: Annotated[list[str], argument("FILES", _FILES)],
    output: options.TableFile = None,
    report: options.ReportFile = None,
    links: Annotated[Path | None, option(_LINKS)] = None,
    format: Annotated[str | None, option(_FORMAT)] = None,
    unit: Annotated[str | None, option(_UNIT, callback=_plain)] = None,
    time_unit: Annotated[str, option("Unit of the column time: ns, us, ms, s or d.")] = "s",
    period: Annotated[float | None, option(_PERIOD)] = None,
    sigma: Annotated[float | None, option(_SIGMA)] = None,
    reference: Annotated[str, option("mean, or the clock whose offset is 0.")] = "mean",
    robust: Annotated[bool, option("Leave out links that contradict the others.")] = True,
    name: Annotated[list[str] | None, option(_NAME, metavar="ADDRESS=NAME")] = None,
    i: Annotated[str | None, column("--i", "Column of the first clock.")] = None,
    j: Annotated[str | None, column("--j", "Column of the second clock.")] = None,
    offset: Annotated[str | None, column("--offset", "Column of the offset, first minus second.")] = None,
    error: Annotated[str | None, column("--error", "Column of the standard deviations.")] = None,
    time: Annotated[str | None, column("--time", "Column of the times, for skews.")] = None,
    json: options.Json = False,
) -> None:
    """Find the offset of every clock of a network.

    An offset is the time of the first clock minus that of the second. The table has offset and standard error of every
    clock, and its skew where there are times. Logs of several hosts are given together.
    """
    from angsync.applications import clocks as application
    from angsync.io.result_file import check_table_path

    hosts = _hosts(files)
    columns = {"i": i, "j": j, "offset": offset, "sigma": error, "time": time}
    run_application(
        list(hosts),
        lambda: application.read(
            hosts, format, unit=unit, time_unit=time_unit, names=halves("name", "ADDRESS=NAME", name), columns=columns
        ),
        lambda data, _: application.synchronize(
            data, sigma=sigma, period=period, reference=reference, robust=robust, unit=unit
        ),
        output, report, json, Output("links", links, check_table_path, lambda result, path: result.save_links(path)),
    )  # fmt: skip


def _hosts(files: Sequence[str]) -> dict[Path, str | None]:
    """Return the host of every file that names one; a file that has the sign in its own name is that file."""
    hosts: dict[Path, str | None] = {}
    for one in files:
        host, _, rest = one.partition("=")
        named = host and rest and not Path(one).exists()
        hosts[Path(rest if named else one)] = host if named else None
    return hosts
