"""Paged memories: compressed and swapped memory, set up for a run and taken down after it."""
