"""Samples of a memory, and where they are stored."""
