"""Measure something small."""

SEED = 18
