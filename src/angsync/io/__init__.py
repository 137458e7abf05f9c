"""Readers and writers, one format a file. Nothing in here solves or judges anything."""
