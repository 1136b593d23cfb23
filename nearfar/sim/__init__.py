"""Costs of accesses on a simulated memory."""
