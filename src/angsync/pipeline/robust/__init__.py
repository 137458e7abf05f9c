"""Measurements of which many are wrong: the phases that the good ones agree on, and which measurements are wrong."""
