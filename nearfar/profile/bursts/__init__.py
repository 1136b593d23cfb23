"""Bursts: short stretches of a run, recorded instruction by instruction under QEMU."""
