"""One model per file, found by the registry."""
