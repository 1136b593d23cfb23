"""Options of every verb, each declared once: the command line, the API and the docs read them."""
