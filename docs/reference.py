"""The site's reference pages, made from the code itself: verbs, documents, registries."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from dataclasses import MISSING

from cyclopts import App

from nearfar import api, commands, documents
from nearfar.api._call import ApiFunction
from nearfar.base.errors import ExitCode
from nearfar.commands.schema import KINDS
from nearfar.crash.lints._registry import lints, meaning, reported_when
from nearfar.devices.library import device_names, load_device
from nearfar.options.option import Field, option_fields


def verbs() -> str:
    """Return every verb's help, options and their types included."""
    app = App(name="nearfar")
    commands.add_commands(app)
    text = app.generate_docs(output_format="markdown", include_hidden=False)
    text = text.replace("# nearfar\n", "# Verbs\n", 1)
    codes = [f"- {code.value}: {code.name.lower().replace('_', ' ')}" for code in ExitCode]
    return text + "\n## Exit codes\n\n" + "\n".join(codes) + "\n"


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


def crash_lints() -> str:
    """Return every lint of `nearfar crash`, with what it means and when it is reported."""
    lines = ["# Lints of `crash`\n"]
    for lint in lints():
        pitfall = f" Example: `examples/pitfalls/{lint.pitfall}.c`." if lint.pitfall else ""
        lines.append(f"## {lint.kind}\n\n{meaning(lint)} ({lint.severity})\n")
        lines.append(f"{reported_when(lint)}{pitfall}\n")
    return "\n".join(lines)


def kernels() -> str:
    """Return the kernels of `nearfar measure --kernel`, with what each access moves."""
    from nearfar.measure.one_kernel import kernel_list

    lines = ["# Kernels of `measure --kernel`\n", "Bytes of one access.\n"]
    lines.append("| kernel | what | read | written | non-temporal | flushed | fences |")
    lines.append("|---|---|---|---|---|---|---|")
    for one in kernel_list():
        keys = ("read_bytes", "written_bytes", "non_temporal_bytes", "flushed_bytes", "fences")
        cells = " | ".join(str(one[key]) for key in keys)
        lines.append(f"| `{one['name']}` | {one['summary']} | {cells} |")
    return "\n".join(lines) + "\n"


def python_api() -> str:
    """Return every function of `nearfar.api` with its options, read from their dataclasses."""
    lines = ["# Python API\n", f"{api.__doc__}\n", "`examples/api/` holds a script.\n"]
    for name in api.__all__:
        function = getattr(api, name)
        if isinstance(function, ApiFunction):
            kind = function.options
            returns = function.__annotations__["return"]
            lines += [f"## {name}\n", f"`{name}({kind.__name__}) -> {returns}`\n"]
            lines += [f"{inspect.getdoc(function)}\n"]
            lines += ["| option | type | default | meaning |", "|---|---|---|---|"]
            lines += [_option_row(entry) for entry in option_fields(kind)]
            lines.append("")
    return "\n".join(lines)


def _option_row(entry: Field) -> str:
    default = "required" if entry.default is MISSING else f"`{entry.default!r}`"
    # A pipe would end the cell.
    text = " ".join(entry.help.split()).replace("|", "\\|")
    return f"| `{entry.name}` | {entry.type_text()} | {default} | {text} |"


def pages() -> dict[str, str]:
    """Return each reference page's name and text."""
    return {
        "verbs.md": verbs(),
        "api.md": python_api(),
        "documents.md": document_kinds(),
        "devices.md": devices(),
        "kernels.md": kernels(),
        "lints.md": crash_lints(),
        "models.md": registry("nearfar.predict.models", "Models"),
        "optimisers.md": registry("nearfar.place.optimisers", "Optimisers"),
        "checks.md": registry("nearfar.machine.checks", "What the doctor checks"),
    }
