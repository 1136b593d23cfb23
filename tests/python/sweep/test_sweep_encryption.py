"""Whoever reaches a sweep's ports cannot run code there; wrong TLS files are one sentence."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import distributed
import psutil
import pytest
from patience import patience

from nearfar.__main__ import main
from nearfar.sweep import encryption
from nearfar.sweep.encryption import temporary_security

PATIENCE_S = patience(60)
SWEEP = """
[programs.slow]
command = "sh -c 'echo $$ > {pid}; exec sleep 600'"
[[measure]]
program = "slow"
"""


def ports_of(pid: int) -> set[int]:
    """Return the TCP ports on which a process and its descendants listen."""
    ports = set()
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            listening = [each for each in process.net_connections("tcp") if each.status == "LISTEN"]
            assert all(each.laddr.ip == "127.0.0.1" for each in listening)
            ports |= {each.laddr.port for each in listening}
    return ports


def plain_answer(port: int) -> bytes:
    """Return what a port answers to a client that asks for a page of the dashboard."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        connection.sendall(b"GET /info/main/workers.html HTTP/1.0\r\n\r\n")
        with contextlib.suppress(ConnectionResetError):
            return connection.recv(1 << 16)
    return b""


def stranger() -> ssl.SSLContext:
    """Return another sweep's certificate, for a client that trusts anybody."""
    context: ssl.SSLContext = temporary_security().get_connection_args("client")["ssl_context"]
    context.verify_mode = ssl.CERT_NONE
    return context


def refused_with_tls(port: int, context: ssl.SSLContext) -> bool:
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as plain,
            context.wrap_socket(plain) as encrypted,
        ):
            return encrypted.recv(1) == b""
    except (ssl.SSLError, ConnectionResetError):
        return True


def test_strangers_are_refused_by_every_port_of_a_sweep(tmp_path: Path) -> None:
    path, pid = tmp_path / "slow.toml", tmp_path / "pid"
    path.write_text(SWEEP.format(pid=pid))
    process = subprocess.Popen(
        [sys.executable, "-m", "nearfar", "sweep", str(path), "--workers", "1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        end = time.monotonic() + PATIENCE_S
        while not (pid.exists() and pid.read_text().strip()):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        ports = ports_of(process.pid)
        assert 8787 not in ports
        context = stranger()
        answers = {port: plain_answer(port) for port in ports}
        # Dask opens ports for pages in any case; there are no pages.
        pages = {port for port, answer in answers.items() if answer.startswith(b"HTTP/1.1 404")}
        assert len(ports - pages) >= 3, "scheduler, nanny, worker"
        for port in ports - pages:
            assert answers[port] == b""
            assert refused_with_tls(port, context)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Make the files as docs/sweep.md shows."""
    key, made = folder / f"{name}.key", folder / f"{name}.crt"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=sweep"
    subprocess.run(
        ["openssl", *words.split(), "-days", "365", "-keyout", str(key), "-out", str(made)],
        check=True,
        capture_output=True,
    )
    return made, key


def tls_words(made: Path, key: Path) -> list[str]:
    return ["--tls-ca-file", str(made), "--tls-cert", str(made), "--tls-key", str(key)]


@contextlib.contextmanager
def scheduler(folder: Path, name: str, *words: str) -> Iterator[str]:
    """Start a scheduler as docs/sweep.md shows; yield its address."""
    where = folder / f"{name}.json"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"),
            *("--port", "0", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"),
            *("--scheduler-file", str(where), *words),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + PATIENCE_S
        while not (where.exists() and where.read_text().rstrip()[-1:] == "}"):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.05)
        yield json.loads(where.read_text())["address"]
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def sweep(capfd: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    """Return a function that runs the verb here, without Dask's start of a second each.

    It returns the exit code and the last line of standard error.
    """

    def run(path: Path, *words: str) -> tuple[int, str]:
        capfd.readouterr()
        code = main(["sweep", str(path), *words])
        stderr = capfd.readouterr().err
        assert "Traceback" not in stderr
        return code, (stderr.strip().splitlines() or [""])[-1]

    return run


def test_a_scheduler_with_tls_computes_and_wrong_files_are_named(
    tmp_path: Path, sweep: Callable[..., tuple[int, str]]
) -> None:
    path = tmp_path / "points.toml"
    path.write_text('[[simulate]]\nfar = "cxl-e3s-x8"\nseed = [1, 2]\n')
    ours, theirs = certificate(tmp_path, "ours"), certificate(tmp_path, "theirs")
    files = tls_words(*ours)
    with scheduler(tmp_path, "encrypted", "--protocol", "tls", *files) as address:
        assert address.startswith("tls://")
        worker = subprocess.Popen(
            [
                *(sys.executable, "-m", "distributed.cli.dask_worker", address, *files),
                *("--nthreads", "1", "--no-nanny", "--no-dashboard"),
                *("--local-directory", str(tmp_path)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            security = distributed.Security(
                require_encryption=True,
                tls_ca_file=str(ours[0]),
                tls_client_cert=str(ours[0]),
                tls_client_key=str(ours[1]),
            )
            with distributed.Client(address, security=security) as client:
                client.wait_for_workers(1, timeout=PATIENCE_S)
            assert sweep(path, "--scheduler", address, *files)[0] == 0
        finally:
            worker.kill()
            worker.wait()
        again = ("--no-resume", "--scheduler", address)
        code, last = sweep(path, *again, *tls_words(*theirs))
        assert (code, "did not sign" in last) == (3, True), last
        mixed = ["--tls-ca-file", str(ours[0]), *tls_words(*theirs)[2:]]
        code, last = sweep(path, *again, *mixed)
        assert (code, "does not know the certificate" in last) == (3, True), last
        code, last = sweep(path, *again)
        assert (code, "speaks TLS: give" in last) == (2, True), last
        code, last = sweep(path, *again[:-1], address.replace("tls:", "tcp:"))
        assert (code, "speaks TLS: write tls://" in last) == (2, True), last
    with scheduler(tmp_path, "plain") as address:
        code, last = sweep(path, "--no-resume", "--scheduler", address, *files)
        assert (code, "is without TLS" in last) == (2, True), last
        encrypted = address.replace("tcp:", "tls:")
        code, last = sweep(path, "--no-resume", "--scheduler", encrypted, *files)
        assert (code, "speaks no TLS" in last) == (3, True), last
    # Nobody answers there any more.
    code, last = sweep(path, "--no-resume", "--scheduler", encrypted, *files)
    assert (code, "no Dask scheduler answers" in last) == (3, True), last


def test_tls_files_that_cannot_be_are_named(
    tmp_path: Path, sweep: Callable[..., tuple[int, str]]
) -> None:
    path = tmp_path / "points.toml"
    path.write_text('[[simulate]]\nfar = "cxl-e3s-x8"\n')
    ours, theirs = certificate(tmp_path, "ours"), certificate(tmp_path, "theirs")
    to = ("--scheduler", "tls://127.0.0.1:9")
    code, last = sweep(path, *to, *tls_words(ours[0], tmp_path / "none"))
    assert (code, "none of --tls-key: No such file" in last) == (2, True), last
    code, last = sweep(path, *to, *tls_words(ours[0], theirs[1]))
    assert (code, "no certificate and its key" in last) == (2, True), last
    code, last = sweep(path, *to, "--tls-ca-file", str(path), *tls_words(*ours)[2:])
    assert (code, "holds no certificate" in last) == (2, True), last
    code, last = sweep(path, *to, *tls_words(*ours)[:4])
    assert (code, "belong together" in last) == (2, True), last
    code, last = sweep(path, *tls_words(*ours))
    assert (code, "belong together" in last) == (2, True), last


@contextlib.contextmanager
def server(says: bytes) -> Iterator[str]:
    """Run a server that says this to everybody and then waits; yields its HOST:PORT."""
    kept = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    kept.append(listening.accept()[0])
                    kept[-1].sendall(says)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(PATIENCE_S)
    for connection in kept:
        connection.close()


@pytest.mark.parametrize("says", [b"", b"SSH-2.0-OpenSSH_9.2\r\n", b"HTTP/1.0 400 Bad\r\n\r\n"])
def test_what_is_no_scheduler_is_not_waited_for(
    tmp_path: Path,
    sweep: Callable[..., tuple[int, str]],
    monkeypatch: pytest.MonkeyPatch,
    says: bytes,
) -> None:
    path = tmp_path / "points.toml"
    path.write_text('[[simulate]]\nfar = "cxl-e3s-x8"\n')
    monkeypatch.setattr(encryption, "CONNECT_S", patience(1))
    with server(says) as address:
        code, last = sweep(path, "--scheduler", f"tcp://{address}")
    assert (code, f"what answers at {address} did not greet" in last) == (3, True), last
