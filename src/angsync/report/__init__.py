"""Figures, the HTML page and the certificate in words: draws what it is given, computes no answer."""

from angsync.report.page import render_page, write_page
from angsync.report.plotting import plot
from angsync.report.words import certificate_in_words

__all__ = ["certificate_in_words", "plot", "render_page", "write_page"]
