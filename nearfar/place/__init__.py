"""What must stay near, for a budget."""
