"""The steps of action.yml, run here; the service's command `gh` is a recorder of its calls."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from forked import nearfar

ROOT = Path(__file__).parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["id"]: step for step in ACTION["runs"]["steps"]}

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")

GH = """#!/bin/bash
# As gh does: lists the numbers of comments that exist, and sends the file of a new one.
for word in "$@"; do
  case $word in body=@*) cp "${word#body=@}" "$RUNNER_TEMP/sent" ;; esac
done
printf '%s\\n' "$*" >>"$RUNNER_TEMP/calls"
[[ "$*" == *--jq* ]] && cat "$RUNNER_TEMP/comments"
exit 0
"""


def run(step: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one step as the service does, with its variables filled in."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "gh").write_text(GH)
    (tools / "nearfar").write_text(f'#!/bin/bash\nexec {sys.executable} -m nearfar "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    assert set(STEPS[step].get("env", {})) == set(variables)
    files = {name: str(folder / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[step]["run"]],
        cwd=folder,
        env={
            **os.environ,
            **files,
            **variables,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "RUNNER_TEMP": str(folder),
        },
        capture_output=True,
        text=True,
        check=False,
    )


def predict(folder: Path, name: str, far: str) -> None:
    """Write the prediction of a program counted by hand."""
    words = ["predict", "thesis-hashmap", "--near", "thesis-dram", "--far", far, "-q", "-o", name]
    nearfar(*words, cwd=folder, check=True)


def test_inputs_are_used_and_every_step_has_a_shell() -> None:
    text = json.dumps(ACTION["runs"])
    for name in ACTION["inputs"]:
        assert f"inputs.{name}" in text
    assert all(step["shell"] == "bash" for step in STEPS.values())
    # Values of a pull request reach scripts as variables only, never as a part of the script.
    assert not any("${{" in step["run"] for step in STEPS.values())


@pytest.mark.parametrize("earlier", ["", "17\n23\n"])
def test_a_pull_request_gets_one_comment_with_the_table(tmp_path: Path, earlier: str) -> None:
    predict(tmp_path, "before.json", "optane-100-6dimm")
    (tmp_path / "after.json").write_text((tmp_path / "before.json").read_text())
    (tmp_path / "comments").write_text(earlier)
    values = {"BEFORE": "before.json", "AFTER": "after.json", "FAIL_OVER": "5%"}
    assert run("compare", tmp_path, **values).returncode == 0
    output = (tmp_path / "github_output").read_text()
    assert output == "code=0\n", (tmp_path / "nearfar.txt").read_text()
    about = {"GH_TOKEN": "none", "GH_REPO": "a/b", "NUMBER": "5"}
    done = run("comment", tmp_path, **about)
    assert done.returncode == 0, done.stderr
    sent = (tmp_path / "sent").read_text()
    assert sent.startswith("<!-- nearfar -->") and "`before.json` `after.json`" in sent
    assert sent in (tmp_path / "github_step_summary").read_text()
    last = (tmp_path / "calls").read_text().splitlines()[-1]
    assert "issues/comments/23" in last if earlier else "issues/5/comments" in last


def test_a_worse_document_is_commented_and_then_fails(tmp_path: Path) -> None:
    predict(tmp_path, "before.json", "optane-100-6dimm")
    text = (tmp_path / "before.json").read_text()
    document = json.loads(text)
    worse(document)
    (tmp_path / "after.json").write_text(json.dumps(document))
    values = {"BEFORE": "before.json", "AFTER": "after.json", "FAIL_OVER": "5%"}
    assert run("compare", tmp_path, **values).returncode == 0
    output = (tmp_path / "github_output").read_text()
    assert output == "code=1\n", (tmp_path / "nearfar.txt").read_text()
    assert "%" in (tmp_path / "nearfar.md").read_text()
    assert run("judge", tmp_path, CODE="1").returncode == 1
    assert run("judge", tmp_path, CODE="0").returncode == 0


def test_a_document_that_is_missing_is_said_in_the_comment(tmp_path: Path) -> None:
    values = {"BEFORE": "none.json", "AFTER": "none.json", "FAIL_OVER": ""}
    assert run("compare", tmp_path, **values).returncode == 0
    assert (tmp_path / "github_output").read_text() == "code=2\n"
    assert "none.json" in (tmp_path / "nearfar.md").read_text()


def worse(value: Any) -> None:
    """Add half to every figure of far memory in a prediction."""
    if isinstance(value, list):
        for item in value:
            worse(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in ("slowdown", "far_time_ns") and isinstance(item, dict):
                for part in ("value", "low", "high"):
                    item[part] *= 1.5
            else:
                worse(item)
