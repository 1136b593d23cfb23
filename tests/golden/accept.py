"""Write what nearfar answers now as the expected output: `accept.py NAME...`, or all.

Look at the difference (git diff tests/golden) before you commit it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from golden import cases, expected_path, result, written


def main(names: list[str]) -> None:
    """Rewrite the expected output of each case."""
    known = cases()
    for name in names or known:
        path = expected_path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(written(result(known[name])) + "\n")
        print(f"wrote {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
