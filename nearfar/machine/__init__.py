"""Memories, caches and counters of this machine, and what is missing for far memory."""
