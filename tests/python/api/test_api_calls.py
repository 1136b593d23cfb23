"""API functions take option objects or keywords and refuse what the verb refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import samples

from nearfar import api
from nearfar.__main__ import main
from nearfar.documents import save


@pytest.fixture
def files(tmp_path: Path) -> Path:
    save(samples.workload(), tmp_path / "run.json")
    save(samples.device(), tmp_path / "near.json")
    save(samples.device("slow", 300, 5, 3), tmp_path / "slow.json")
    return tmp_path


def test_keywords_options_and_documents_agree_with_the_verb(files: Path, capsys) -> None:
    paths = [str(files / name) for name in ("run.json", "near.json", "slow.json")]
    by_keyword = api.predict(profile=Path(paths[0]), near=paths[1], far=[paths[2]])
    by_object = api.predict(
        api.PredictOptions(profile=Path(paths[0]), near=paths[1], far=[paths[2]])
    )
    in_memory = api.predict(
        profile=samples.workload(), near=samples.device(), far=[samples.device("slow", 300, 5, 3)]
    )
    assert main(["predict", paths[0], "--near", paths[1], "--far", paths[2], "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert by_keyword.devices == by_object.devices == in_memory.devices
    assert printed["devices"][0]["total"]["far_time_ns"]["value"] == (
        by_keyword.devices[0].total.far_time_ns.value
    )
    assert (by_keyword.profile, in_memory.profile) == (paths[0], "")


def test_a_path_may_be_text_and_a_sequence_a_single_value(files: Path) -> None:
    options = api.PredictOptions(
        profile="run.json",  # type: ignore[arg-type]
        near="near.json",
        far="slow.json",
    )
    assert options.profile == Path("run.json")
    assert options.far == ("slow.json",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"nears": "near.json"},
        {"host": "nearest"},
        {"sets": 3},
        {"near_size": "1GiB"},
        {"frequency": 2.0},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_errors_have_the_sentence_of_the_command_line(files: Path, wrong: dict, capsys) -> None:
    arguments = {
        "profile": str(files / "run.json"),
        "near": str(files / "near.json"),
        "far": str(files / "slow.json"),
    } | wrong
    with pytest.raises(api.NearfarError) as refused:
        api.predict(**arguments)
    words = [word for name in arguments for word in (_flag(name), str(arguments[name]))]
    assert main(["predict", *words]) == refused.value.exit_code
    assert str(refused.value) in " ".join(capsys.readouterr().err.split())


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def test_a_missing_required_option_is_named() -> None:
    with pytest.raises(api.NearfarError, match="--profile requires an argument"):
        api.predict(near="near.json", far=["cxl-e3s-x8"])  # type: ignore[call-overload]
    with pytest.raises(api.NearfarError, match="far memory with --far; only --on MACHINE has both"):
        api.predict(profile=Path("run.json"), near="near.json")


def test_importing_the_api_imports_no_stage() -> None:
    code = (
        "import sys, nearfar.api; "
        "print([m for m in ('numpy', 'cyclopts', 'msgspec') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_text_instead_of_a_number_is_refused() -> None:
    with pytest.raises(api.NearfarError, match="--seconds must be a number, not '5'"):
        api.measure(memory="model:random:1", seconds="5")  # type: ignore[call-overload]
