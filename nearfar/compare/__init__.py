"""Two documents side by side: what changed, by how much, and whether chance explains it.

*Value*: a number of a document and its spread. *Kind*: how one kind of document gives values, one
file each in `kinds/`. *Family*: values that are judged together.
"""
