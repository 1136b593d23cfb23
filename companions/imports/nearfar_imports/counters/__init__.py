"""Counter files of other tools, one format per file, into one document."""
