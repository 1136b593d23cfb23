"""What memories, caches and counters are here, and what lacks."""
