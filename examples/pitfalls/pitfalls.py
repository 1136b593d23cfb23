"""Runs `nearfar crash` on the pitfalls and their mends, as pitfalls.toml says.

python examples/pitfalls/pitfalls.py [NAME...]      prints what nearfar finds
python examples/pitfalls/pitfalls.py --docs         writes docs/pitfalls.md
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
_DOCS = HERE.parents[1] / "docs" / "pitfalls.md"
_FLAGS = ("-O1", "-g", "-fno-optimize-sibling-calls")
"""One place per store, and the caller of a persist is on the stack."""
_LEAST_SECONDS = 60
"""Each is to be found within them."""


class AbsentError(Exception):
    """What a pitfall needs is not on this machine."""


@dataclass(frozen=True)
class Pitfall:
    """One row of pitfalls.toml."""

    name: str
    mend: str
    arguments: list[str]
    expect: list[str]
    check: list[str] = field(default_factory=list)
    dump: list[str] = field(default_factory=list)
    pool: list[str] = field(default_factory=list)
    compiler: str = ""
    published: str = ""


@dataclass(frozen=True)
class Answer:
    """What `nearfar crash` said of one program."""

    bugs: list[str]
    """Symptoms."""
    lints: list[str]
    """Kinds."""
    replays: list[str]
    text: str
    seconds: float

    def found(self) -> list[str]:
        """Return what `expect` is compared with."""
        return [*(["bug"] if self.bugs else []), *self.lints]


def pitfalls() -> list[Pitfall]:
    """Return all rows."""
    rows = tomllib.loads((HERE / "pitfalls.toml").read_text())
    return [Pitfall(name=name, **row) for name, row in rows.items()]


def compiled(name: str, folder: Path, compiler: str = "") -> Path:
    """Compile NAME.c once into `folder`."""
    program = folder / f"{name}{compiler and '-' + compiler}"
    if program.exists():
        return program
    source = HERE / f"{name}.c"
    text = source.read_text() + "".join(
        header.read_text()
        for header in HERE.glob("*.h")
        if f'"{header.name}"' in source.read_text()
    )
    libraries = [one for one in ("pmemobj", "pmem") if f"<lib{one}.h>" in text]
    for library in libraries:
        if not Path(f"/usr/include/lib{library}.h").exists():
            raise AbsentError(f"lib{library}-dev is not installed: run `scripts/setup.sh test`")
    if shutil.which("cc") is None:
        raise AbsentError("there is no C compiler here")
    nearfar = Path(sys.executable).parent / "nearfar"
    if compiler and not nearfar.exists():
        raise AbsentError("nearfar is not installed as a program beside this Python")
    words = [str(nearfar), "cc"] if compiler else ["cc"]
    include = f"-I{HERE.parents[1] / 'include'}"
    links = [f"-l{one}" for one in libraries] + ["-lpthread"]
    subprocess.run([*words, *_FLAGS, include, "-o", program, source, *links], check=True)
    return program


def explore(
    one: Pitfall, folder: Path, *, mended: bool = False, seconds: float = _LEAST_SECONDS
) -> Answer:
    """Explore the wrong program, or its mend in its place."""
    from nearfar.__main__ import main
    from nearfar.documents.crash_report import CrashReport
    from nearfar.documents.header import load

    name = one.mend if mended else one.name
    program = compiled(name, folder, one.compiler)
    judges = one.check or one.dump
    judge = {"right": one.mend, "self": name}.get(judges[0], judges[0])
    command = " ".join([str(compiled(judge, folder)), "{pool}", *judges[1:]])
    output = folder / f"{name}-of-{one.name}.json"
    options = ["--check" if one.check else "--dump", command, "--seconds", str(seconds)]
    if one.pool:
        pool = folder / f"{one.name}.pool"
        maker, *words = one.pool
        if not pool.exists():
            subprocess.run([compiled(maker, folder), pool, *words], check=True)
        options += ["--pool", str(pool)]
    said = io.StringIO()
    begun = time.monotonic()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        # Generous, so that a busy machine changes nothing.
        words = ["crash", "--timeout", "30s", "-o", str(output), *options]
        code = main([*words, "--", str(program), "{pool}", *one.arguments])
    if code not in (0, 1):
        raise RuntimeError(f"nearfar crash ended with {code} on {name}")
    report = load(output, CrashReport)
    return Answer(
        bugs=[bug.symptom for bug in report.bugs],
        lints=[lint.kind for lint in report.lints],
        replays=[bug.replay for bug in report.bugs],
        text=said.getvalue(),
        seconds=time.monotonic() - begun,
    )


def _shown(answer: Answer, folder: Path) -> str:
    """Return what was printed, without what differs from run to run."""
    lines = [
        line
        for line in answer.text.splitlines()
        if line.startswith(("bug", "lint", "  in memory", "  not yet", "  cause", "  checker"))
    ]
    text = "\n".join(lines).replace(f"{folder}/", "")
    text = re.sub(r"0x[0-9a-f]{9,} is in", "0x... is in", text)
    return re.sub(r"at 0x7f[0-9a-f]+", "at 0x7f...", text)


def _docs(folder: Path) -> str:
    parts = [(HERE / "pitfalls.head.md").read_text()]
    for one in pitfalls():
        source = (HERE / f"{one.name}.c").read_text()
        comment, _, code = source.partition("*/\n")
        title = " ".join(comment.strip("/* \n").replace("\n *", " ").split())
        answer = explore(one, folder)
        parts.append(f"## {one.name}\n")
        parts.append(f"{title}" + (f" *({one.published})*" if one.published else "") + "\n")
        parts.append(f"```c\n{code.strip()}\n```\n")
        parts.append(f"```\n{_shown(answer, folder)}\n```\n")
        parts.append(f"Mend: [`{one.mend}.c`](../examples/pitfalls/{one.mend}.c)\n")
    return "\n".join(parts)


def main(names: list[str]) -> int:
    """Run it."""
    with tempfile.TemporaryDirectory(prefix="nearfar-pitfalls-") as name:
        folder = Path(name)
        if names == ["--docs"]:
            _DOCS.write_text(_docs(folder))
            return 0
        missed = 0
        for one in pitfalls():
            if names and one.name not in names:
                continue
            answer = explore(one, folder)
            mend = explore(one, folder, mended=True)
            lacks = [kind for kind in one.expect if kind not in answer.found()]
            missed += bool(lacks or mend.found())
            verdict = f"MISSED {', '.join(lacks)}" if lacks else "found"
            silent = "silent" if not mend.found() else f"NOT SILENT: {', '.join(mend.found())}"
            print(f"{one.name}: {verdict} in {answer.seconds:.1f} s; mend {silent}")
            if names:
                print(answer.text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
