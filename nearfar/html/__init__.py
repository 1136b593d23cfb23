"""Pages in the report's style without scripts: `page`, and the style sheet of every page."""
