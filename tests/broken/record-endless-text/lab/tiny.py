"""Measure something small."""

SEED = 17
