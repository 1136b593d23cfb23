"""Memories of this machine: their specs, checks before use, and the CPUs near them."""
