"""Placement of objects in near and far memories, for a budget of near memory."""
