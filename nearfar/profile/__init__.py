"""Where a program touches memory, per object and phase."""
