"""Predictions for programs that others measured on real far memory, and their scores."""
