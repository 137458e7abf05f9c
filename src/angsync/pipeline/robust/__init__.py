"""Measurements of which many are wrong: find the phases that the good ones agree on, and say which those are."""
