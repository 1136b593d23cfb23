"""One self-contained page, and the same numbers as JSON: prepare, then render.

Map
---
api.py        documents in, the page's data out: predicts, places, prepares
data.py       what the page shows, as plain typed data; `--json` prints exactly this
prepare.py    documents to data; answer, frontiers, ladder, labels, lines, live, memories, how:
              one part of it each
render.py     data to one HTML file: page/ is the frame, figures/ one figure a file
vendor/       D3 modules (ISC) that are inlined, so that the page opens offline

To add a figure: write figures/foo.html (title, place to draw, caption), figures/foo.js
(`figure("foo", make)`), and name it in figures/__init__.py.
"""
