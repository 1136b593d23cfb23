"""One file per kind whose table says more than medians and ratios."""
