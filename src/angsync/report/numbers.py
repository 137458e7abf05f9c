"""Numbers as a reader wants them: 3.2e-9 in a terminal, 3.2×10⁻⁹ on a page."""

from __future__ import annotations

import math
import re

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_ASCII = re.compile(r"(?<![\w.])\d+(\.\d+)?e[-+]?\d+\b")
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def plain_number(value: float, digits: int = 4) -> str:
    """ASCII, for terminals of any encoding: ``1234.5``, ``3.2e-9``, ``inf``, ``nan``."""
    value = float(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    mantissa, exponent = _split(value, digits)
    return mantissa if exponent is None else f"{mantissa}e{exponent}"


def pretty_number(value: float, digits: int = 4) -> str:
    """Typographic, for pages and figures: ``1234.5``, ``3.2×10⁻⁹``, ``∞``, ``not a number``."""
    value = float(value)
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    mantissa, exponent = _split(value, digits)
    mantissa = mantissa.replace("-", "−")
    if exponent is None:
        return mantissa
    sign = "−" if mantissa == "−1" else ""
    return sign + power_of_ten(exponent) if mantissa.lstrip("−") == "1" else f"{mantissa}×{power_of_ten(exponent)}"


def typeset(sentence: str) -> str:
    """A sentence for a terminal as a page writes it: 3.2e-9 becomes 3.2×10⁻⁹."""
    return _ASCII.sub(lambda found: pretty_number(float(found[0]), 10), sentence)


def power_of_ten(exponent: int) -> str:
    """``10⁻¹⁰``; the powers 0 and 1 are written out."""
    if exponent in (0, 1):
        return "1" if exponent == 0 else "10"
    return "10" + str(exponent).translate(_SUPERSCRIPTS)


def duration(seconds: float) -> str:
    """A running time in the unit that suits it, for a page."""
    seconds = float(seconds)
    if not math.isfinite(seconds):
        return pretty_number(seconds)
    if seconds < 1:
        return f"{pretty_number(seconds * 1e3, 3)} ms"
    if seconds < 120:
        return f"{pretty_number(seconds, 3)} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def brief_duration(seconds: float) -> str:
    """A running time in three digits and a unit, for the column of a table in a terminal: ``1.50 us``, ``75.0 s``."""
    # 0.9995: what would round to 1000 of the smaller unit is 1 of the larger
    size, unit = next(((size, unit) for size, unit in _UNITS if seconds >= 0.9995 * size), _UNITS[-1])
    return f"{three_digits(seconds / size)} {unit}"


def three_digits(number: float) -> str:
    """Three digits without an exponent; two where it is small."""
    if abs(number) < 0.0995:
        return f"{number:.2g}"
    if abs(number) >= 99.95:
        return f"{number:.0f}"
    return f"{number:.1f}" if abs(number) >= 9.995 else f"{number:.2f}"


def percent(share: float) -> str:
    """Three digits and the sign; what is smaller than the eye needs is only called small."""
    return "<0.01%" if 0 < share < 1e-4 else f"{three_digits(100 * share)}%"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 node``, ``10,000 nodes``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _split(value: float, digits: int) -> tuple[str, int | None]:
    """Mantissa and exponent; the exponent is None where positional notation reads better."""
    if value == 0:
        return "0", None
    mantissa, exponent_text = f"{value:.{digits - 1}e}".split("e")  # rounds before the exponent is looked at
    exponent = int(exponent_text)
    if -3 <= exponent < 7:
        text = f"{value:.{max(0, digits - 1 - exponent)}f}"
        return _trim(text), None
    return _trim(mantissa), exponent


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
