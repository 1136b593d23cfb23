"""Kinds of documents that can be compared, one file each, found by `nearfar.compare.kind.KINDS`."""
