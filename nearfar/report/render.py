"""`ReportData` to one HTML file: styles, scripts and data inside, nothing fetched."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import jinja2
import msgspec
from markupsafe import Markup

from nearfar.base.units import format_bytes
from nearfar.html.page import STYLE_SHEET
from nearfar.report.data import ReportData
from nearfar.report.figures import CONTROLS_BEFORE, FIGURES
from nearfar.report.words import count_text, digits3, time_text

HERE = Path(__file__).parent

# d3-scale needs array, interpolate and format; d3-interpolate needs color; d3-shape needs path.
VENDOR_ORDER = ("array", "color", "interpolate", "format", "scale", "path", "shape", "hierarchy")

MOST_OPEN = 4
"""Far memories whose answer is open at once: with the headline, about one screen."""

# Characters that could end the script element or a JavaScript line, with their JSON escapes, which
# parse to the same text. U+2028 and U+2029 end lines in scripts of old browsers.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def to_json(data: ReportData) -> bytes:
    """Return the report's data as JSON: what `--json` prints and the page embeds."""
    return msgspec.json.encode(data)


def render(data: ReportData) -> str:
    """Return the whole page."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {
        "bytes": format_bytes,
        "ns": time_text,
        "digits3": digits3,
        "count": count_text,
    }
    script = _script()
    # The policy allows exactly this script and no fetches: even text that escaping missed cannot
    # run.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'"
    )
    return environment.get_template("page/page.html").render(
        data=data,
        figures=FIGURES,
        controls_before=CONTROLS_BEFORE,
        most_open=MOST_OPEN,
        policy=policy,
        css=Markup(_css()),
        script=Markup(script),
        json=Markup(embedded_json(data)),
    )


def embedded_json(data: ReportData) -> str:
    """Return the data as JSON that no HTML parser interprets as markup."""
    return to_json(data).decode().translate(_ESCAPES)


def _css() -> str:
    parts = [STYLE_SHEET, *(HERE / f"figures/{f.name}.css" for f in FIGURES)]
    return "\n".join(part.read_text() for part in parts if part.exists())


def _script() -> str:
    vendor = [next((HERE / "vendor").glob(f"d3-{name}-*.min.js")) for name in VENDOR_ORDER]
    ours = [HERE / f"figures/{figure.name}.js" for figure in FIGURES]
    own = [HERE / "page/base.js", *(file for file in ours if file.exists()), HERE / "page/start.js"]
    body = "\n".join(file.read_text() for file in own)
    # A function scope prevents clashes with names of the browser and with ids of elements.
    return "\n".join(file.read_text() for file in vendor) + f"\n(() => {{\n{body}\n}})();\n"
