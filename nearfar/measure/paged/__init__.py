"""Measurement of a paged memory: what a fault and an eviction cost, per page."""
