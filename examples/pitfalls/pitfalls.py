"""Runs `nearfar crash` on the pitfalls and their fixes, as pitfalls.toml says.

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
"""One place per store, and the caller of a persist on the stack."""
_MAX_SECONDS = 60
"""Time limit for each pitfall."""


class AbsentError(Exception):
    """A requirement of a pitfall is missing on this machine."""


@dataclass(frozen=True)
class Pitfall:
    """One row of pitfalls.toml."""

    name: str
    fix: str
    arguments: list[str]
    expect: list[str]
    check: list[str] = field(default_factory=list)
    dump: list[str] = field(default_factory=list)
    pool: list[str] = field(default_factory=list)
    published: str = ""
    files: bool = False
    schedules: int = 1


@dataclass(frozen=True)
class PitfallReport:
    """Bugs and lints that `nearfar crash` reported for one program."""

    bugs: list[str]
    """Symptoms."""
    lints: list[str]
    """Kinds."""
    replays: list[str]
    text: str
    seconds: float
    first_states: int | None
    first_s: float
    """States and seconds to the first bug; without one, to the report of its lints."""

    def kinds(self) -> list[str]:
        """Return "bug" if there is one, and the kinds of lints, as in `expect`."""
        return [*(["bug"] if self.bugs else []), *self.lints]


def pitfalls() -> list[Pitfall]:
    """Return all rows."""
    rows = tomllib.loads((HERE / "pitfalls.toml").read_text())
    return [Pitfall(name=name, **row) for name, row in rows.items()]


def compiled(name: str, folder: Path) -> Path:
    """Compile NAME.c once into `folder`."""
    program = folder / name
    if program.exists():
        return program
    source = HERE / f"{name}.c"
    text = source.read_text() + "".join(
        header.read_text()
        for header in HERE.glob("*.h")
        if f'"{header.name}"' in source.read_text()
    )
    libraries = [name for name in ("pmemobj", "pmem") if f"<lib{name}.h>" in text]
    for library in libraries:
        if not Path(f"/usr/include/lib{library}.h").exists():
            raise AbsentError(f"lib{library}-dev is not installed: run `scripts/setup.sh test`")
    if shutil.which("cc") is None:
        raise AbsentError("there is no C compiler on this machine")
    include = f"-I{HERE.parents[1] / 'include'}"
    links = [f"-l{library}" for library in libraries] + ["-lpthread"]
    subprocess.run(["cc", *_FLAGS, include, "-o", program, source, *links], check=True)
    return program


def explore(
    pitfall: Pitfall, folder: Path, *, fixed: bool = False, seconds: float = _MAX_SECONDS
) -> PitfallReport:
    """Explore the wrong program, or its fix instead."""
    from nearfar.__main__ import main
    from nearfar.base.errors import ExitCode
    from nearfar.documents.crash_report import CrashReport
    from nearfar.documents.header import load

    name = pitfall.fix if fixed else pitfall.name
    program = compiled(name, folder)
    judges = pitfall.check or pitfall.dump
    judge = {"right": pitfall.fix, "self": name}.get(judges[0], judges[0])
    data = "{files}" if pitfall.files else "{pool}"
    printed = ["{printed}"] if pitfall.files else []
    command = " ".join([str(compiled(judge, folder)), data, *printed, *judges[1:]])
    output = folder / f"{name}-of-{pitfall.name}.json"
    options = ["--check" if pitfall.check else "--dump", command, "--seconds", str(seconds)]
    if pitfall.files:
        options += ["--files", str(folder / "absent")]
    if pitfall.schedules > 1:
        options += ["--schedules", str(pitfall.schedules)]
    if pitfall.pool:
        pool = folder / f"{pitfall.name}.pool"
        maker, *words = pitfall.pool
        if not pool.exists():
            subprocess.run([compiled(maker, folder), pool, *words], check=True)
        options += ["--pool", str(pool)]
    output_text = io.StringIO()
    start_s = time.monotonic()
    with contextlib.redirect_stdout(output_text), contextlib.redirect_stderr(io.StringIO()):
        # Generous, so that a busy machine changes nothing.
        words = ["crash", "--timeout", "30s", "-o", str(output), *options]
        code = main([*words, "--", str(program), data, *pitfall.arguments])
    if code not in (ExitCode.DONE, ExitCode.FOUND, ExitCode.UNFINISHED):
        raise RuntimeError(f"nearfar crash ended with {code} on {name}")
    report = load(output, CrashReport)
    seconds = time.monotonic() - start_s
    first = report.bugs[0] if report.bugs else None
    return PitfallReport(
        bugs=[bug.symptom for bug in report.bugs],
        lints=[lint.kind for lint in report.lints],
        replays=[bug.replay for bug in report.bugs],
        text=output_text.getvalue(),
        seconds=seconds,
        first_states=first.found_states if first else None,
        first_s=first.found_s if first else seconds,
    )


def _shown(answer: PitfallReport, folder: Path) -> str:
    """Return the printed bugs and lints, without addresses that differ from run to run."""
    lines = [
        line
        for line in answer.text.splitlines()
        if line.startswith(
            ("bug", "lint", "  in memory", "  not yet", "  models", "  cause", "  checker")
        )
    ]
    text = "\n".join(lines).replace(f"{folder}/", "")
    text = re.sub(r"0x[0-9a-f]{9,} is in", "0x... is in", text)
    return re.sub(r"at 0x7f[0-9a-f]+", "at 0x7f...", text)


def _docs(folder: Path) -> str:
    parts = [(HERE / "pitfalls.head.md").read_text()]
    for pitfall in pitfalls():
        source = (HERE / f"{pitfall.name}.c").read_text()
        comment, _, code = source.partition("*/\n")
        title = " ".join(comment.strip("/* \n").replace("\n *", " ").split())
        answer = explore(pitfall, folder)
        parts.append(f"## {pitfall.name}\n")
        parts.append(f"{title}" + (f" *({pitfall.published})*" if pitfall.published else "") + "\n")
        parts.append(f"```c\n{code.strip()}\n```\n")
        parts.append(f"```\n{_shown(answer, folder)}\n```\n")
        parts.append(f"Fix: [`{pitfall.fix}.c`](../examples/pitfalls/{pitfall.fix}.c)\n")
    return "\n".join(parts)


def main(names: list[str]) -> int:
    """Run the named pitfalls, or all."""
    with tempfile.TemporaryDirectory(prefix="nearfar-pitfalls-") as name:
        folder = Path(name)
        if names == ["--docs"]:
            _DOCS.write_text(_docs(folder))
            return 0
        missed = 0
        for pitfall in pitfalls():
            if names and pitfall.name not in names:
                continue
            answer = explore(pitfall, folder)
            fix = explore(pitfall, folder, fixed=True)
            absent = [kind for kind in pitfall.expect if kind not in answer.kinds()]
            missed += bool(absent or fix.kinds())
            verdict = f"MISSED {', '.join(absent)}" if absent else "found"
            silent = "silent" if not fix.kinds() else f"NOT SILENT: {', '.join(fix.kinds())}"
            print(f"{pitfall.name}: {verdict} in {answer.seconds:.1f} s; fix {silent}")
            if names:
                print(answer.text)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
