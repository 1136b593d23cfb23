"""Formulas as counts: only arithmetic is evaluated, and the thesis' model is one file."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearfar.__main__ import main
from nearfar.api import predict
from nearfar.base.errors import NearfarError
from nearfar.devices.library import load_device
from nearfar.predict.code_file import CODES, load_code, parse_sizes, profile_of_code
from nearfar.predict.formula import evaluate
from nearfar_studies import hashmap


@pytest.mark.parametrize(
    ("text", "value"),
    [("4 + 1/3", 13 / 3), ("-n ** 2", -9.0), ("max(0, 1 - 6 / n)", 0.0), ("log2(n + 5)", 3.0)],
)
def test_formulas_have_their_values(text: str, value: float):
    assert evaluate(text, {"n": 3.0}, "here") == pytest.approx(value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "n.__class__",
        "[n][0]",
        "(lambda: 1)()",
        "open('x')",
        "'a' * 9",
        "True",
        "f'{n}'",
        "n if n else 0",
        "max(*[1])",
    ],
)
def test_only_arithmetic_is_evaluated(text: str):
    with pytest.raises(NearfarError):
        evaluate(text, {"n": 1.0}, "here")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("element + 1", "did you mean 'elements'"),
        ("sqr(2)", "did you mean 'sqrt'"),
        ("1 / 0", "has no value"),
        ("9.0 ** 9999", "has no value"),
        ("(-8) ** 0.5", "finite number"),
        ("1 +", "cannot read"),
        ("ln()", "has no value"),
        ("1e400", "finite number"),
    ],
)
def test_errors_name_the_formula(text: str, message: str):
    with pytest.raises(NearfarError, match=message):
        evaluate(text, {"elements": 1.0}, "here")


@given(text=st.text(max_size=30))
def test_any_text_gives_a_number_or_one_refusal(text: str):
    try:
        assert math.isfinite(evaluate(text, {"n": 2.0}, "here"))
    except NearfarError as refusal:
        assert str(refusal).startswith("here")


@pytest.mark.parametrize("n", [5e4, 1e6, 7e6])
def test_the_thesis_code_model_is_one_file(n: float):
    near, far = load_device("thesis-dram"), load_device("thesis-pmem")
    code = load_code(CODES / "thesis-hashmap.toml")
    (result,) = predict(
        profile=profile_of_code(code, near, {"n": n}), near=near, far=[far], model="code"
    ).devices
    (its,) = hashmap.its_code_model_s(hashmap.np.array([n])) * 1e9
    assert result.total.far_time_ns.value == pytest.approx(its, rel=0.01)


@pytest.mark.parametrize("n", [1e5, 1e6, 7e6])
def test_its_counters_model_is_one_file_except_for_its_stores(n: float):
    near, far = load_device("thesis-dram"), load_device("thesis-pmem")
    code = load_code(CODES / "thesis-hashmap-counters.toml")
    (result,) = predict(
        profile=profile_of_code(code, near, {"n": n}), near=near, far=[far], model="code"
    ).devices
    (its,) = hashmap.its_counters_model_s(hashmap.np.array([n]), with_cpu=False) * 1e9
    assert result.total.far_time_ns.value == pytest.approx(its, rel=0.03)


def test_misses_may_follow_from_the_cache(tmp_path: Path):
    file = tmp_path / "table.toml"
    file.write_text(
        'title = "t"\nsource = "s"\n[sizes]\nn = 1e6\n[phases.get]\noperations = "n"\n'
        'compute_ns = 5\n[phases.get.objects.table]\nsize_bytes = "64 * n"\n'
        'independent = "max(0, 1 - llc_bytes / (64 * n))"\n'
    )
    near, far = load_device("thesis-dram"), load_device("thesis-pmem")
    slowdowns = []
    for llc in (1 << 20, 32 << 20, 64 << 20):
        workload = profile_of_code(load_code(file), near, {}, llc)
        slowdowns.append(
            predict(profile=workload, near=near, far=[far], model="code")
            .devices[0]
            .total.slowdown.value
        )
    assert slowdowns[0] > slowdowns[1] > slowdowns[2] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 1\n", "Expected `str`"),
        ("title", "not valid TOML"),
        (
            'title = "t"\nsource = "s"\n[phases.p]\noperations = "-1"\n[phases.p.objects]\n',
            "expected at least 0",
        ),
        ('title = "t"\nsource = "s"\n[phases.p]\noperation = 1\n', "unknown field"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(
    tmp_path: Path, text: str, message: str, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "bad.toml"
    file.write_text(text)
    assert main(["predict", str(file), "--near", "thesis-dram", "--far", "thesis-pmem"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_sizes_are_parsed_and_refused():
    assert parse_sizes(["n=1e5"]) == {"n": 1e5}
    for text in ("n", "n=x", "=4", "n=inf"):
        with pytest.raises(NearfarError, match="--size"):
            parse_sizes([text])
