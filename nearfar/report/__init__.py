"""One self-contained page, and the same numbers as JSON: prepare, then render.

Map
---
data.py       what the page shows, as plain typed data; `--json` prints exactly this
prepare.py    documents to data; answer, memories, frontiers, lines, live: one part of it each
render.py     data to one HTML file: page/ is the frame, figures/ one figure a file
vendor/       D3 modules (ISC) that are inlined, so that the page opens offline
"""
