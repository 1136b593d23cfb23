"""Time and traffic of accesses to a simulated memory."""
