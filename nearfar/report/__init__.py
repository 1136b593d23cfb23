"""One self-contained page, and the same numbers as JSON: prepare, then render."""
