"""Help, missing arguments and completion name what a user can give."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nearfar import __main__
from nearfar.base.errors import ExitCode
from nearfar.commands import GROUPS, REST, heading_of, verbs


def test_help_shows_every_verb_once_in_the_order_of_the_groups(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert __main__.main(["--help"]) == ExitCode.DONE
    lines = capsys.readouterr().out.splitlines()
    starts = [line[2:].split(" ")[0] for line in lines if line.startswith("  ")]
    shown = [word for word in starts if word and not word.startswith("-")]
    assert shown == verbs()
    assert all(len(line) <= 100 for line in lines)
    headings = [line.removesuffix(":") for line in lines if re.match(r"\S.*:$", line)]
    assert headings == [*GROUPS, REST, "Options"]
    assert heading_of("try") == "Start" and heading_of("schema") == REST
    assert all(verb in shown for group in GROUPS.values() for verb in group)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["device", "show"], "nearfar device show needs DEVICE: Name in the library, or path of a"),
        (["report", "run.json"], "nearfar report needs --near: The memory the program was profile"),
        (
            ["mark"],
            "nearfar mark needs WHAT: begin or end (begin, end). See `nearfar mark --help`.",
        ),
        (
            ["completion"],
            "nearfar completion needs SHELL (bash, zsh, fish). See `nearfar completio",
        ),
        (["schema"], "name a document kind: "),
        (["predict", "--fast"], "Did you mean --far? See `nearfar predict --help`."),
        (["pedict"], "See `nearfar --help`."),
    ],
)
def test_a_missing_argument_is_named_with_its_choices_and_the_help_of_its_verb(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert __main__.main(words) == ExitCode.WRONG_USE
    error = capsys.readouterr().err
    assert sentence in error and error.count("\n") == 1


@pytest.mark.parametrize("verb", ["measure", "predict", "try"])
def test_help_shows_only_defaults_that_say_something(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert __main__.main([verb, "--help"]) == ExitCode.DONE
    page = capsys.readouterr().out
    assert "[default: " in page
    assert not re.search(r'\[default:\s*(False|"")\]', page)


@pytest.mark.parametrize("words", [["predict"], ["device", "show"], ["run", "./program"], ["cc"]])
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_before_a_verb_shows_the_help_of_the_verb(
    option: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *others = words
    assert __main__.main([verb, "--help", *others]) == ExitCode.DONE
    behind = capsys.readouterr().out
    assert f"Usage: nearfar {verb} " in behind
    assert __main__.main([option, *words]) == ExitCode.DONE
    assert capsys.readouterr().out == behind


def test_help_before_an_unknown_verb_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert __main__.main(["--help", "pedict"]) == ExitCode.WRONG_USE
    assert "there is no verb 'pedict'" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_verbs_devices_models_kinds_and_files(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").touch()
    script = tmp_path / "script"
    done = subprocess.run(
        [sys.executable, "-m", "nearfar", "completion", "bash"],
        capture_output=True,
        text=True,
        check=True,
    )
    script.write_text(done.stdout)
    for line, answer in (
        ("nearfar va", "validate"),
        ("nearfar predict run.json --far optane-20", "optane-200"),
        ("nearfar predict run.json --far mine", "mine.toml"),
        ("nearfar predict run.json --model inv", "inversion"),
        ("nearfar device show thesis-pm", "thesis-pmem"),
        ("nearfar schema workload-", "workload-profile"),
        ("nearfar report mi", "mine.toml"),
    ):
        ask = f"source {script}; COMP_WORDS=({line}); COMP_CWORD={line.count(' ')}; _nearfar"
        completed = subprocess.run(
            ["bash", "-c", f'{ask}; echo "${{COMPREPLY[@]}}"'],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert completed.stdout == f"{answer}\n", line
