"""Shared by the Python tests: the folder itself is importable, so `import samples` works."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
