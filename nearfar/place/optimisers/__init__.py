"""One optimiser per file, found by the registry."""
