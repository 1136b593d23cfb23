"""One file per group of rows; each has a function `rows` that yields `Row`s."""
