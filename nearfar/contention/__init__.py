"""Memory that a program's data can be put into, and processes that load it from another core."""
