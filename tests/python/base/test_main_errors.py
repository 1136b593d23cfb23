"""Output for errors that no verb converted to a sentence."""

from __future__ import annotations

import errno

import pytest

from nearfar import __main__
from nearfar.base.errors import ExitCode


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (OSError(errno.ENOSPC, "No space left", "x.json"), "cannot use x.json: No space left"),
        (OSError("the connection was closed"), "a system call failed: the connection was closed"),
        (ConnectionError(), "a system call failed: ConnectionError"),
    ],
)
def test_an_error_of_the_system_has_a_reason(
    error: OSError,
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(_: list[str]) -> int:
        raise error

    monkeypatch.setattr(__main__, "_run", fail)
    assert __main__.main(["device"]) == ExitCode.MACHINE_LACKS
    assert capsys.readouterr().err == f"nearfar: {sentence}\n"
