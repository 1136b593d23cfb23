"""Restricts who may use a sweep's workers, since Dask runs any code that a client sends.

Workers on this machine get a temporary certificate. For an existing scheduler, the user names the
certificate files. nearfar connects once before Dask does, to report wrong files or a missing
scheduler: Dask would retry until its timeout, or wait forever for a greeting.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import ssl
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import distributed
import distributed.comm

from nearfar.base.errors import CommandError, ExitCode, NearfarError

CONNECT_S = 10.0
"""Time a scheduler has to answer: it does so within milliseconds, a loaded one within seconds."""

GREETING = b"pickle-protocol"
"""A word of what Dask says first on each connection."""

MAX_GREETING = 1 << 16
"""Bytes among which the greeting is; Dask's first message has some dozens."""

NONSENSE = b"\r\n\r\n\n"
"""Words of no protocol: servers of others, TLS too, answer so many; Dask waits for eight."""

CERTIFICATE_DAYS = "365"
"""Validity of a temporary certificate: longer than a sweep; its key is gone with the sweep."""

DASK: Any = distributed
"""Dask, which has no types."""

GIVE_FILES = "give --tls-ca-file, --tls-cert and --tls-key, the files that its workers have"

SAFE_SETUP = "docs/sweep.md (On a cluster) shows how to start one with TLS"


@dataclass(frozen=True, kw_only=True)
class TlsFiles:
    """Files with which a client and a scheduler prove to each other who they are."""

    authority: Path
    """Certificate of who signed both sides' certificates."""
    certificate: Path
    key: Path

    def context(self) -> ssl.SSLContext:
        """Return the SSL context of these files; CommandError names an invalid file."""
        for flag, path in (
            ("--tls-ca-file", self.authority),
            ("--tls-cert", self.certificate),
            ("--tls-key", self.key),
        ):
            try:
                path.read_bytes()
            except OSError as error:
                raise CommandError(f"cannot read {path} of {flag}: {error.strerror}") from error
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # Dask does the same: certificates name a sweep, not hosts.
        context.check_hostname = False
        try:
            context.load_verify_locations(self.authority)
        except ssl.SSLError as error:
            raise CommandError(
                f"{self.authority} of --tls-ca-file holds no certificate: give a PEM file"
            ) from error
        try:
            context.load_cert_chain(self.certificate, self.key)
        except ssl.SSLError as error:
            raise CommandError(
                f"{self.certificate} and {self.key} are no certificate and its key: give the two "
                "PEM files that were made together"
            ) from error
        return context

    def security(self) -> Any:
        """Return these files as Dask's Security."""
        return DASK.Security(
            require_encryption=True,
            tls_ca_file=str(self.authority),
            tls_client_cert=str(self.certificate),
            tls_client_key=str(self.key),
        )


def temporary_security() -> Any:
    """Return Dask's Security with a new key that only this process and its workers have."""
    tool = shutil.which("openssl")
    if tool is None:
        raise NearfarError(
            "cannot encrypt what a sweep sends to its workers: the program openssl is missing; "
            "install it (apt-get install openssl)",
            ExitCode.MACHINE_LACKS,
        )
    # Only the owner may enter a new temporary folder.
    with tempfile.TemporaryDirectory(prefix="nearfar-sweep-") as folder:
        key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        request = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        named = ["-subj", "/CN=nearfar-sweep", "-days", CERTIFICATE_DAYS]
        made = subprocess.run(
            [tool, "req", *request, *named, "-keyout", str(key), "-out", str(certificate)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            last = (made.stderr.strip().splitlines() or ["no message"])[-1]
            raise NearfarError(
                f"{tool} cannot make a certificate for a sweep's workers: {last}",
                ExitCode.MACHINE_LACKS,
            )
        secret, public = key.read_text(), certificate.read_text()
    roles = ("client", "scheduler", "worker")
    return DASK.Security(
        require_encryption=True,
        tls_ca_file=public,
        **{f"tls_{role}_key": secret for role in roles},
        **{f"tls_{role}_cert": public for role in roles},
    )


def security_of(scheduler: str, files: TlsFiles | None) -> Any:
    """Return Dask's Security for `scheduler`, None without TLS; NearfarError if they do not fit."""
    protocol = _protocol(scheduler)
    if files is None:
        if protocol == "tcp":
            _connect(scheduler, None)
        if protocol != "tls":
            return None
        # Dask's own configuration may name the files.
        configured = DASK.Security()
        if configured.tls_ca_file and configured.tls_client_cert:
            _connect(scheduler, configured.get_connection_args("client")["ssl_context"])
            return configured
        raise CommandError(f"{scheduler} speaks TLS: {GIVE_FILES}")
    context = files.context()
    if protocol != "tls":
        raise CommandError(
            f"the scheduler's address {scheduler} is without TLS, and --tls-ca-file, --tls-cert "
            "and --tls-key are given: write it as in tls://head:8786, or leave them out"
        )
    _connect(scheduler, context)
    return files.security()


def _connect(scheduler: str, context: ssl.SSLContext | None) -> None:
    """Connect once; NearfarError says what is wrong: the server, or which side's certificate."""
    name = scheduler.rpartition("/")[2]
    try:
        if _greets(scheduler, context):
            return
    except ssl.SSLCertVerificationError as error:
        raise NearfarError(
            f"the scheduler {name} has a certificate that --tls-ca-file did not sign "
            f"({error.verify_message}): give the files of this scheduler",
            ExitCode.MACHINE_LACKS,
        ) from error
    except ssl.SSLError as error:
        if "ALERT" in (error.reason or ""):
            raise NearfarError(
                f"the scheduler {name} does not know the certificate of --tls-cert: give the "
                "files of this scheduler",
                ExitCode.MACHINE_LACKS,
            ) from error
        raise NearfarError(
            f"what answers at {name} speaks no TLS: any user who reaches it could run code as "
            f"you; {SAFE_SETUP}",
            ExitCode.MACHINE_LACKS,
        ) from error
    except OSError as error:
        raise no_answer(scheduler, str(error)) from error
    if context is None and _speaks_tls(scheduler):
        raise NearfarError(f"the scheduler {scheduler} speaks TLS: write tls:// and {GIVE_FILES}")
    raise NearfarError(
        f"what answers at {name} did not greet as a Dask scheduler: give "
        "the address that `dask scheduler` prints",
        ExitCode.MACHINE_LACKS,
    )


def _greets(scheduler: str, context: ssl.SSLContext | None) -> bool:
    """Return whether the server sends a greeting first, as Dask does; OSError: no answer."""
    with contextlib.ExitStack() as opened:
        connection: socket.socket = opened.enter_context(
            socket.create_connection(_host_port(scheduler), timeout=CONNECT_S)
        )
        if context is not None:
            connection = opened.enter_context(context.wrap_socket(connection))
        first_words = b""
        # A reset of an encrypted connection means that the server refused the certificate.
        silent = (ConnectionError, TimeoutError) if context is None else (TimeoutError,)
        with contextlib.suppress(*silent):
            # What refuses a certificate and closes would not be heard after words of this side.
            if context is None:
                connection.sendall(NONSENSE)
            while GREETING not in first_words and len(first_words) < MAX_GREETING:
                # With TLS 1.3 a scheduler's refusal arrives with what it would say first.
                part = connection.recv(MAX_GREETING)
                if not part:
                    break
                first_words += part
        return GREETING in first_words


def _speaks_tls(scheduler: str) -> bool:
    """Return whether the server speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with (
            socket.create_connection(_host_port(scheduler), timeout=CONNECT_S) as plain,
            context.wrap_socket(plain),
        ):
            return True
    except OSError:
        return False


def no_answer(scheduler: str, reason: str) -> NearfarError:
    """Return the error of a scheduler that does not answer."""
    return NearfarError(
        f"no Dask scheduler answers at {scheduler}: start one with `dask scheduler`, or leave "
        f"out --scheduler to compute on this machine ({reason})",
        ExitCode.MACHINE_LACKS,
    )


def open_to_all(scheduler: str) -> str | None:
    """Return a warning if the scheduler accepts any client, else None."""
    if _protocol(scheduler) == "tls":
        return None
    return (
        f"{scheduler} is without TLS: any user who reaches it can run code as the owner of its "
        f"workers; {SAFE_SETUP}"
    )


def _protocol(scheduler: str) -> str:
    return str(DASK.comm.parse_address(scheduler)[0])


def _host_port(scheduler: str) -> tuple[str, int]:
    host, port = DASK.comm.parse_host_port(DASK.comm.parse_address(scheduler)[1])
    return str(host), int(port)
