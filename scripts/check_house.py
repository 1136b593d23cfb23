"""Check names, words and sizes that ruff does not check. Exit 1 and list what breaks a rule.

Rules: no docstring starts with "Of", "What" or "Who"; no word of `scripts/words.txt` in a
docstring, comment or message, of Python, C or C++; no variable called `one`, `found`, `said` or
`thing` (fields of documents may be: they are a public format); no public class name in two files;
no file above 400 lines; no function above 60 lines; a README in every package, with "In:",
"Out:" and how to add to it. Tests and benchmarks need only the first two.

    scripts/check_house.py [--count] [PATH ...]
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDERS = ("nearfar", "companions")
TEXT_FOLDERS = ("tests", "benchmarks")
"""Folders of which only docstrings and words are checked."""
NATIVE_FOLDERS = ("native", "include", "companions", "tests")
READ_ME_FOLDERS = ("nearfar/*/", "native/*/", "companions/*/", "benchmarks/", "tests/", "scripts/")
NATIVE_SUFFIXES = {".c", ".cpp", ".h", ".hpp"}
NATIVE_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
"""A comment or a string of C and C++."""
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
EMPTY_NAMES = {"one", "found", "said", "thing"}
BAD_STARTS = re.compile(r"(Of|What|Who)\b")
WORDS = re.compile(
    r"\b("
    + "|".join(
        line.split("#")[0].strip()
        for line in (ROOT / "scripts/words.txt").read_text().splitlines()
        if line.split("#")[0].strip()
    )
    + r")\b",
    re.IGNORECASE,
)

TEXT_TOKENS = {
    tokenize.COMMENT,
    tokenize.STRING,
    getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING),  # Python 3.12 and later
}

KEYS = re.compile(r"\w+\.\w+|^\"\w+\"$")
"""A field of a document in an f-string, or a string that is a key alone: a public format."""

Problem = tuple[Path, int, str, str]
"""File, line, rule, sentence."""


def docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Yield docstrings, those below attributes and constants included."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            if (
                isinstance(statement, ast.Expr)
                and isinstance(statement.value, ast.Constant)
                and isinstance(statement.value.value, str)
            ):
                yield statement.value


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield each name that is assigned or is a parameter, with its line; no fields of classes."""
    fields = {
        id(statement.target)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Store)
            and id(node) not in fields
        ):
            yield node.id, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno


def words(path: Path, source: str) -> Iterator[Problem]:
    """Yield words of the list in comments and strings."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in TEXT_TOKENS:
            text = KEYS.sub(lambda match: " " * len(match[0]), token.string)
            for match in WORDS.finditer(text):
                line = token.start[0] + token.string.count("\n", 0, match.start())
                yield path, line, "word", f"{match.group()!r} is on the list of scripts/words.txt"


def native_words(path: Path) -> Iterator[Problem]:
    """Yield words of the list in comments and strings of a C or C++ file."""
    source = path.read_text()
    for text in NATIVE_TEXT.finditer(source):
        for match in WORDS.finditer(text[0]):
            line = source.count("\n", 0, text.start() + match.start()) + 1
            yield path, line, "word", f"{match.group()!r} is on the list of scripts/words.txt"


def check_text(path: Path) -> Iterator[Problem]:
    """Yield docstrings with a bad start and words of the list in a Python file."""
    source = path.read_text()
    for text in docstrings(ast.parse(source)):
        if match := BAD_STARTS.match(str(text.value).strip()):
            yield path, text.lineno, "docstring-start", f"the docstring starts with {match[0]!r}"
    yield from words(path, source)


def check_file(path: Path) -> Iterator[Problem]:
    """Yield what breaks a rule in one file."""
    source = path.read_text()
    tree = ast.parse(source)
    lines = source.count("\n")
    if lines > MAX_FILE_LINES:
        yield path, 1, "file-length", f"{lines} lines; {MAX_FILE_LINES} are allowed"
    for name, line in bound_names(tree):
        if name in EMPTY_NAMES:
            yield path, line, "empty-name", f"the variable {name!r} does not say what it holds"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length > MAX_FUNCTION_LINES:
                sentence = f"{node.name} has {length} lines; {MAX_FUNCTION_LINES} are allowed"
                yield path, node.lineno, "function-length", sentence
    yield from check_text(path)


def same_classes(paths: list[Path]) -> Iterator[Problem]:
    """Yield public classes whose name stands in more than one file."""
    places: dict[str, list[tuple[Path, int]]] = defaultdict(list)
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append((path, node.lineno))
    for name, where in places.items():
        for path, line in where if len(where) > 1 else []:
            others = ", ".join(str(other.relative_to(ROOT)) for other, _ in where if other != path)
            yield path, line, "class-name", f"class {name} is also in {others}"


def is_source(folder: Path) -> bool:
    """Return whether a folder has more than caches, which stay where a package has moved away."""
    return folder.name[0] not in "_." and any(
        each.name != "__pycache__" for each in folder.iterdir()
    )


def read_me(folder: Path) -> Iterator[Problem]:
    """Yield what is missing in the README of a package."""
    path = folder / "README.md"
    text = path.read_text() if path.is_file() else ""
    for needed in (r"\bIn\b.*:", r"\b[Oo]ut:", r"\b(add|[Aa]nother|new)\b"):
        if not re.search(needed, text):
            yield path, 1, "read-me", f"nothing in it matches {needed!r}"


def files_in(folders: tuple[str, ...], suffixes: set[str]) -> list[Path]:
    """Return the files below the folders with one of the suffixes."""
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*"))
    return sorted(path for path in paths if path.suffix in suffixes and path.is_file())


def main(arguments: list[str]) -> int:
    """Check the given files and folders, or the whole house."""
    counting = "--count" in arguments
    given = [Path(word).resolve() for word in arguments if word != "--count"]
    everything = files_in(FOLDERS, {".py"})
    problems = [problem for path in everything for problem in check_file(path)]
    problems += same_classes(everything)
    problems += [p for path in files_in(TEXT_FOLDERS, {".py"}) for p in check_text(path)]
    problems += [
        p for path in files_in(NATIVE_FOLDERS, NATIVE_SUFFIXES) for p in native_words(path)
    ]
    folders = (path for pattern in READ_ME_FOLDERS for path in ROOT.glob(pattern))
    problems += [p for path in sorted(folders) if is_source(path) for p in read_me(path)]
    if given:
        problems = [p for p in problems if any(p[0].is_relative_to(place) for place in given)]
    if not counting:
        for path, line, rule, sentence in sorted(problems):
            print(f"{path.relative_to(ROOT)}:{line}: {rule}: {sentence}")
    for rule, count in sorted(Counter(problem[2] for problem in problems).items()):
        print(f"{count:6} {rule}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
