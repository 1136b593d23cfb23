"""Writes the reference into build/docs, from the code itself: verbs, documents, registries."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

from nearfar import commands, documents
from nearfar.base.errors import ExitCode
from nearfar.commands.schema import KINDS
from nearfar.devices.library import device_names, load_device

OUTPUT = Path("build/docs")
NEARFAR = Path(sys.executable).parent / "nearfar"


def verbs() -> str:
    """Return every verb's help as it prints it."""
    pages = ["# Verbs\n"]
    for module in sorted(pkgutil.iter_modules(commands.__path__), key=lambda module: module.name):
        if module.name.startswith("_"):
            continue
        code = importlib.import_module(f"nearfar.commands.{module.name}")
        verb = getattr(code, "VERB", module.name)
        shown = subprocess.run(
            [NEARFAR, verb, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={"COLUMNS": "100", "TERM": "dumb", "PATH": "/usr/bin:/bin"},
        )
        pages.append(f"## nearfar {verb}\n\n```\n{shown.stdout.strip()}\n```\n")
    pages.append("## Exit codes\n")
    pages.extend(f"- {code.value}: {code.name.lower().replace('_', ' ')}" for code in ExitCode)
    return "\n".join(pages) + "\n"


def document_kinds() -> str:
    """Return each document's docstring and JSON schema."""
    pages = ["# Documents\n"]
    for name, kind in KINDS.items():
        module = importlib.import_module(kind.__module__)
        pages.append(f"## {name} (version {kind.VERSION})\n\n{module.__doc__}\n")
        text = json.dumps(documents.schema(kind), indent=1)
        pages.append(f"```json\n{text}\n```\n")
    return "\n".join(pages)


def devices() -> str:
    """Return every device of the library with its sources."""
    pages = ["# Devices\n"]
    for name in device_names():
        device = load_device(name)
        pages.append(f"## {name}\n\n{device.title}\n")
        pages.extend(
            f"- {key}: {source.citation} {source.where} {source.licence}".rstrip()
            for key, source in device.sources.items()
        )
        pages.append("")
    return "\n".join(pages)


def registry(package: str, title: str) -> str:
    """Return the first line of every module of a folder that is a registry."""
    folder = importlib.import_module(package)
    lines = [f"# {title}\n"]
    for module in sorted(pkgutil.iter_modules(folder.__path__), key=lambda module: module.name):
        if not module.name.startswith("_"):
            text = importlib.import_module(f"{package}.{module.name}").__doc__ or ""
            lines.append(f"- **{module.name}**: {text.strip().splitlines()[0]}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write all pages."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    pages = {
        "verbs.md": verbs(),
        "documents.md": document_kinds(),
        "devices.md": devices(),
        "models.md": registry("nearfar.predict.models", "Models"),
        "optimisers.md": registry("nearfar.place.optimisers", "Optimisers"),
        "checks.md": registry("nearfar.machine.checks", "What the doctor checks"),
    }
    for name, text in pages.items():
        (OUTPUT / name).write_text(text)
        print(f"wrote {OUTPUT / name}")


if __name__ == "__main__":
    main()
