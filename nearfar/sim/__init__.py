"""What accesses would cost on a simulated memory."""
