"""Logs of time daemons, made from their documented formats."""

import numpy as np
import pytest

from angsync.applications import clocks
from angsync.errors import FileFormatError, InputError

RAW = "60000 {t:.3f} {peer} {own} {T1} {T2} {T3} {T4} 0 4 4 1 6 -24 0.000000 0.000320 .PPS.\n"
CHRONY = (
    "=====================================================================\n"
    "   Date (UTC) Time     IP Address   L St 123 567 ABCD  LP RP Score    Offset  Peer del. Peer disp.\n"
    "=====================================================================\n"
)
CHRONY_LINE = (
    "2026-01-02 03:04:{s:02d} {peer}    N  2 111 {tests} 1111  10 10 1.0 {offset:.3e}  2.296e-02  1.577e-05  "
    "1.615e-01  7.446e-03 CB00717B 4B D K\n"
)


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def raw_line(t, ahead):
    """The server is ahead by so many nanoseconds; 10 ms there, 10 ms back, 50 us in between."""
    start = 3_565_350_574 * 10**9 + 400_229_473 + t * 10**9
    stamps = (start, start + 10_000_000 + ahead, start + 10_050_000 + ahead, start + 20_050_000)
    texts = [f"{s // 10**9}.{s % 10**9:09d}" for s in stamps]
    return RAW.format(
        t=float(t), peer="10.0.0.2", own="10.0.0.1", **dict(zip(("T1", "T2", "T3", "T4"), texts, strict=True))
    )


def test_rawstats_keep_every_digit_of_long_time_stamps(tmp_path):
    path = write(tmp_path, "rawstats", "".join(raw_line(t, 123) for t in range(4)))
    links = clocks.read(path)
    assert links.clocks == ("10.0.0.1", "10.0.0.2")
    np.testing.assert_allclose(links.offset, -123e-9, rtol=1e-6)  # the local clock minus the server
    np.testing.assert_allclose(links.delay, 0.02, rtol=1e-9)
    assert links.unit == "s"
    assert np.diff(links.time).tolist() == [1.0, 1.0, 1.0]
    result = clocks.synchronize(clocks.read(path, unit="ns", names={"10.0.0.2": "server"}), reference="10.0.0.1")
    assert result.difference("server", "10.0.0.1") == pytest.approx(123)
    assert "half of the difference" in str(result)


def test_peerstats_positive_is_a_slow_local_clock(tmp_path):
    line = "60000 {t}.5 {peer} 9014 0.001500000 0.020000000 0.000100000 0.000010000\n"
    folder = tmp_path / "alpha"
    folder.mkdir()
    text = "".join(line.format(t=k, peer=peer) for k in range(3) for peer in ("10.0.0.2", "127.127.28.0"))
    links = clocks.read(write(folder, "peerstats.20260101", text))
    assert set(links.clocks) == {"alpha", "10.0.0.2", "127.127.28.0 of alpha"}
    result = clocks.synchronize(links, reference="alpha")
    assert result.difference("10.0.0.2", "alpha") == pytest.approx(1.5e-3)


def test_chrony_positive_is_a_slow_local_clock_and_failed_packets_are_counted(tmp_path):
    rows = [CHRONY_LINE.format(s=k, peer="203.0.113.15", tests="111", offset=-4e-3) for k in range(3)]
    rows.append(CHRONY_LINE.format(s=9, peer="203.0.113.15", tests="101", offset=9.0))
    links = clocks.read(write(tmp_path, "beta.log", CHRONY + "".join(rows)))
    assert len(links) == 3
    result = clocks.synchronize(links, reference="beta")
    assert result.difference("203.0.113.15", "beta") == pytest.approx(-4e-3)
    assert "1 packets of beta.log that failed" in str(result)
    assert links.time[1] - links.time[0] == 1.0


def test_ptp4l_positive_is_a_local_clock_ahead(tmp_path):
    head = "ptp4l[10.5]: selected best master clock 00a069.fffe.0b552d\n"
    rows = "".join(
        f"ptp4l[{k}.125]: master offset {250 + k:10d} s2 freq  -30575 path delay     10583\n" for k in (11, 12)
    )
    links = clocks.read(write(tmp_path, "gamma.log", head + rows))
    assert (links.unit, links.clocks) == ("ns", ("gamma", "00a069.fffe.0b552d"))
    assert links.offset.tolist() == [261.0, 262.0]
    syslog = "Mar 25 13:00:18 nuc ptp4l: [11.125] master offset 7 s2 freq +1 path delay 5\n"
    other = clocks.read(write(tmp_path, "syslog", syslog))
    assert other.clocks == ("nuc", f"master of {tmp_path.name}")
    both = clocks.read([tmp_path / "gamma.log", tmp_path / "syslog"], unit="us")
    assert both.time is None
    assert any("cannot be compared" in note for note in both.notes)
    np.testing.assert_allclose(both.offset, [0.261, 0.262, 0.007])


def test_a_line_that_is_still_being_written_is_left_out_and_said(tmp_path):
    links = clocks.read(write(tmp_path, "rawstats", raw_line(0, 1) + raw_line(1, 1) + "60000 2.000 10.0"))
    assert len(links) == 2
    assert any("not complete" in note for note in links.notes)


@pytest.mark.parametrize(
    ("format", "text", "message"),
    [
        ("rawstats", "60000 1.0 a b 1.0 2.0\n", "line 1: 6 fields where rawstats has at least 8"),
        ("peerstats", "60000 1.0 a 9014 x 0.1 0.1 0.1\n", "line 1: 'x' is no number for offset"),
        ("chrony", CHRONY, "holds no lines of measurements.log"),
        ("chrony", CHRONY_LINE.format(s=1, peer="a", tests="111", offset=1).replace("01-02", "99-02"), "no date"),
        ("ptp4l", "ptp4l[1.5]: rms 12 max 30 freq -1 +/- 2 delay 5 +/- 1\n", "have no sign"),
        ("ptp4l", "hello\n", "no lines of ptp4l"),
        ("table", "a,b\n1,2\n", "no column 'i'"),
    ],
)
def test_a_wrong_file_is_one_message_with_its_line(tmp_path, format, text, message):
    with pytest.raises((FileFormatError, InputError), match=message):
        clocks.read(write(tmp_path, "log", text), format)


def test_names_do_not_make_one_clock_of_two_that_were_compared(tmp_path):
    path = write(tmp_path, "rawstats", raw_line(0, 1))
    with pytest.raises(InputError, match="compared with each other"):
        clocks.read(path, names={"10.0.0.2": "10.0.0.1"})
    with pytest.raises(InputError, match="format must be one of"):
        clocks.read(path, "gps")
