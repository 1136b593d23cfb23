"""Programs of the user: their files, their runs, their phases, names for their addresses."""
