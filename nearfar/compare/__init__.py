"""Two documents side by side: what changed, by how much, and whether chance explains it.

*Figure*: one number of a document, with what is known of its spread. *Kind*: how one kind of
document gives figures, one file each in `kinds/`. *Family*: figures that are judged together.
"""
