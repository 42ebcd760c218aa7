"""Drawings: one module a subject, each with its finding, its reading and its numbers.

Altair and vl-convert live here and nowhere else, and are imported only to draw.
"""
