"""Messages of the library, which speak to people who write Python, as the command line says them. Loads no NumPy."""

from __future__ import annotations

_SAID = {
    "(certify=False)": "(--no-certify)",
    "Pass certify=True, or call angsync.certify(C, result.z).": "Leave --no-certify out, or call angsync certify.",
    "To go on from the witness, synchronize again with start=certificate.witness.": "Try --effort high.",
    "(effort='high')": "(--effort high)",
    "(effort='normal')": "(--effort normal)",
    "(a smaller Stopping tolerance, more iterations)": "(--tolerance, --max-iterations)",
    ", or go on from this result with start=result": "",
    " Go on from it with start=result.": "",
    "at max_seconds": "at --max-seconds",
    "what max_seconds left": "what --max-seconds left",
    "at max_iterations": "at --max-iterations",
    "i=, j=, angle=, weight= (--column-i and so on)": "--column-i, --column-j, --column-angle, --column-weight",
    "hermitian='upper' or 'lower' (--hermitian upper)": "--hermitian upper or lower",
    "hermitian='upper' or 'lower'": "--hermitian upper or lower",
    "(format='csv', --format csv)": "(--format csv)",
    "Then say unit='deg' (--unit deg; turns: 'turn').": "Then say --unit deg (turns: --unit turn).",
    " (in Python solver=angsync.Robust())": "",
    "Pass sigma": "Give --sigma",
    "pass sigma": "give --sigma",
    " (--sigma)": "",
    # of the library that reads the options
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number",
}


def for_the_terminal(text: str) -> str:
    """The text with options in the place of keyword arguments."""
    for python, option in _SAID.items():
        text = text.replace(python, option)
    return text
