"""Mechanisms that run a program as if memory were far, one file each."""
