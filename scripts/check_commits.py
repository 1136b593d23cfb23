"""Check commit subjects: at most 72 characters, imperative, capitalised, no full stop.

scripts/check_commits.py            the commits since this check exists
scripts/check_commits.py FILE       one message, as git's commit-msg hook gives it
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MAX_CHARACTERS = 72
NOT_IMPERATIVE = ("ed", "ing", "s")
"""Endings of "added", "adding", "adds"."""
IMPERATIVE = {"address", "bring", "compress", "cross", "discuss", "embed", "express", "feed"}
IMPERATIVE |= {"focus", "need", "pass", "press", "process", "seed", "shed", "speed", "stress"}


def problem(subject: str) -> str:
    """Return what is wrong with a subject, or an empty string."""
    words = subject.rpartition(":")[2].split()
    first = words[0].lower() if words else ""
    if subject.startswith(("Merge ", "Revert ")):
        return ""
    if len(subject) > MAX_CHARACTERS:
        return f"{len(subject)} characters; {MAX_CHARACTERS} are allowed"
    if not subject or not subject[0].isupper():
        return "expected a capital first letter"
    if subject.endswith("."):
        return "expected no full stop at the end"
    if first.endswith(NOT_IMPERATIVE) and first not in IMPERATIVE:
        return f"expected the imperative (Add, Fix, Rename), not {first!r}"
    return ""


def subjects(arguments: list[str]) -> list[str]:
    """Return the subjects to check."""
    if arguments:
        lines = Path(arguments[0]).read_text().splitlines()
        return [next((line for line in lines if line and not line.startswith("#")), "")]
    begin = _git("log", "--diff-filter=A", "--format=%H", "--", "scripts/check_commits.py")
    if not begin:
        return []  # a shallow clone: its commits were checked where they were made
    return _git("log", "--no-merges", "--format=%s", f"{begin[-1]}..HEAD")


def _git(*words: str) -> list[str]:
    answer = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    return answer.stdout.splitlines()


def main(arguments: list[str]) -> int:
    """Print each subject that breaks the rule."""
    wrong = [(subject, text) for subject in subjects(arguments) if (text := problem(subject))]
    for subject, text in wrong:
        print(f"commit subject {subject!r}: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
