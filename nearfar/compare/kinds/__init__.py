"""Kinds of documents that can be compared, one file each; `kind.KINDS` lists them."""
