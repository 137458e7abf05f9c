"""Stacks of small problems, one problem a vector lane."""
