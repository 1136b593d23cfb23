"""Predictions of programs that others measured on real far memory, and their scores."""
