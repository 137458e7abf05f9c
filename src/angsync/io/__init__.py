"""Readers and writers, one format a file. Nothing in here solves or judges anything."""

from angsync.io.phases_file import read_phases
from angsync.io.reading import read
from angsync.io.writing import write_matrix, write_measurements

__all__ = ["read", "read_phases", "write_matrix", "write_measurements"]
