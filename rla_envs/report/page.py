"""HTML by hand: whatever a model, a task or a judge wrote is text and stays text."""

from __future__ import annotations

import html
import re
from importlib.resources import files

_SURROGATES = re.compile("[\ud800-\udfff]")
# Characters that a browser refuses, and those that turn the reading direction of what follows.
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]")


def escape(text: object) -> str:
    """Return text for element content and quoted attributes; control characters become U+FFFD."""
    return html.escape(_UNSEEN.sub("\ufffd", _SURROGATES.sub("\ufffd", str(text))), quote=True)


def page(title: str, body: str) -> str:
    """Return a whole page.

    Args:
        title: Plain text.
        body: HTML, already escaped.
    """
    style = files("rla_envs.report").joinpath("style.css").read_text(encoding="utf-8")
    # No script may run and nothing may be loaded, should an escape ever be missing.
    policy = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def badge(text: str, sign: int | None = None) -> str:
    """Return a small label, green for +1, red for -1, grey for None."""
    kind = {1: " plus", -1: " minus"}.get(sign or 0, "")
    return f'<span class="badge{kind}">{escape(text)}</span>'


def signed(value: int | None) -> str:
    """Return "+1", a true minus sign and 1, or a question mark for None."""
    return {1: "+1", -1: "\u22121"}.get(value or 0, "?")
