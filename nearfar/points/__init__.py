"""Kinds of points of a sweep: what each needs, how it is computed, and the row it gives."""
