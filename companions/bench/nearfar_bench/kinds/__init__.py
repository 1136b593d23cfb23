"""One file per kind whose table shows more than medians and ratios."""
