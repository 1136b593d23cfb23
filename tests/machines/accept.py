"""Write what nearfar reads from a tree as its expected answer: `accept.py NAME...`, or all.

Look at the difference (git diff tests/machines) before you commit it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from goldens import HERE, answers


def main(names: list[str]) -> None:
    """Rewrite NAME.json and NAME.txt of each tree."""
    for name in names or sorted(path.stem for path in HERE.glob("*.tree")):
        for path, text in answers(name).items():
            path.write_text(text)
            print(f"wrote {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
