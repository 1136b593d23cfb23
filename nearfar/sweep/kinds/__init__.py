"""The kinds of points, one file each, found by `nearfar.sweep.kind.KINDS`; nothing lists them."""
