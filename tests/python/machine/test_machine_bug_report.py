"""A bug report has what a maintainer needs and nothing that identifies the machine's owner."""

from __future__ import annotations

import getpass
import socket

import pytest

from nearfar.__main__ import main
from nearfar.machine.bug_report import bug_report, without_secrets


@pytest.fixture(scope="module")
def report() -> str:
    return bug_report()


def test_the_report_has_what_a_maintainer_needs(report: str) -> None:
    for wanted in ("commit:", "native parts:", "kernel:", "packages:", '"machine-check"'):
        assert wanted in report


def test_the_report_identifies_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "falcon7")
    monkeypatch.setattr(getpass, "getuser", lambda: "agatha")
    monkeypatch.setenv("HOME", "/srv/people/agatha")
    report_text = without_secrets(
        "falcon7 /home/agatha/x /srv/people/agatha/y agatha 10.1.2.3 00:1a:2b:3c:4d:5e "
        "root=UUID=0fc63daf-8483-4772-8e79-3d69d8477de4 api_token=abc123 Serial: QX-77 "
        "/docker/ba87791f8dab1b8c39e967c1dc06fbd7"
    )
    for secret in (
        "falcon7",
        "agatha",
        "10.1.2.3",
        "1a:2b",
        "0fc63daf",
        "abc123",
        "QX-77",
        "ba8779",
    ):
        assert secret not in report_text


def test_only_variables_that_affect_nearfar_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEARFAR_PROBE", "1")
    monkeypatch.setenv("AWS_SECRET", "do-not-tell")
    told = bug_report()
    assert "NEARFAR_PROBE=1" in told
    assert "do-not-tell" not in told


def test_the_report_needs_no_other_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machine", "--bug-report", "--check"]) == 2
    assert "takes no other options" in capsys.readouterr().err
