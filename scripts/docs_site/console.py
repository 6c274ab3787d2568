"""Blocks of commands and their output: the copy button takes the commands alone."""

from __future__ import annotations

import html
import shlex
from typing import Any

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import BashLexer

__all__ = ["fence"]

_PROMPT = "$ "


def fence(
    source: str, language: str, class_name: str, options: dict[str, Any], md: object, **kwargs: object
) -> str:
    """Return a ``console`` block as HTML. mkdocs.yml names this function.

    A command begins with ``$`` and continues if its line ends with a backslash or within quotes; other lines
    are output. The style sheet excludes prompts (``gp``) and output (``go``) from copying.

    Args:
        source: The block's text.
        language: The language after the fence.
        class_name: The class that pymdownx.superfences proposes.
        options: The block's options.
        md: The Markdown instance.
        kwargs: Other arguments that pymdownx.superfences passes.
    """
    parts: list[str] = []
    command = ""
    for line in source.splitlines():
        if command:
            command += f"\n{line}"
        elif line.startswith(_PROMPT):
            command = line.removeprefix(_PROMPT)
        else:
            parts.append(f'<span class="go">{html.escape(line)}\n</span>')
        if command and not _is_open(command):
            parts.append(_highlighted(command))
            command = ""
    if command:
        parts.append(_highlighted(command))
    return f'<div class="highlight"><pre><span></span><code>{"".join(parts)}</code></pre></div>'


def _is_open(command: str) -> bool:
    if command.endswith("\\"):
        return True
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False


def _highlighted(command: str) -> str:
    code = highlight(command, BashLexer(), HtmlFormatter(nowrap=True))
    return f'<span class="gp">{_PROMPT}</span>{code}'
