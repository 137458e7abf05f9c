"""Lanczos runs with what they prove."""
