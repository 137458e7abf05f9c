"""Numbers as a reader wants them: 3.2e-9 in a terminal, 3.2×10⁻⁹ on a page."""

from __future__ import annotations

import math
import re

_ASCII = re.compile(r"(?<![\w.])\d+(\.\d+)?e[-+]?\d+\b")
_SUPERSCRIPTS = str.maketrans("−0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_WORDS = {"nan": "not a number", "inf": "∞", "-inf": "−∞"}


def plain_number(value: float, digits: int = 4) -> str:
    """ASCII, for terminals of any encoding: ``1234.5``, ``3.2e-9``, ``inf``, ``nan``."""
    mantissa, is_finite, power = f"{float(value):.{digits - 1}e}".partition("e")  # rounds before the power is looked at
    if not is_finite or value == 0:
        return mantissa if value else "0"
    exponent = int(power)
    if -3 <= exponent < 7:
        return _trim(f"{value:.{max(0, digits - 1 - exponent)}f}")
    return f"{_trim(mantissa)}e{exponent}"


def pretty_number(value: float, digits: int = 4) -> str:
    """Typographic, for pages and figures: ``1234.5``, ``3.2×10⁻⁹``, ``∞``, ``not a number``."""
    text = plain_number(value, digits)
    mantissa, has_power, exponent = text.replace("-", "−").partition("e")
    power = f"10{exponent.translate(_SUPERSCRIPTS)}"
    if has_power:
        return {"1": power, "−1": f"−{power}"}.get(mantissa, f"{mantissa}×{power}")
    return _WORDS.get(text, mantissa)


def typeset(sentence: str) -> str:
    """A sentence for a terminal as a page writes it: 3.2e-9 becomes 3.2×10⁻⁹."""
    return _ASCII.sub(lambda found: pretty_number(float(found[0]), 10), sentence)


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


def percent(share: float) -> str:
    """Three digits and the sign."""
    return f"{plain_number(100 * share, 3)}%"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """``1 node``, ``10,000 nodes``."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def _trim(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
