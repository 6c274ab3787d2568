"""HTML and SVG by small pieces that escape whatever is put into them; the look of all report pages."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from controller_client.common.visible_text import visible

__all__ = ["Html", "commands", "document", "el", "join", "table"]

_VOID = frozenset({"meta"})

# Refused by the browser too, should anything else ever get in.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_STYLE = """
:root { color-scheme: light dark; --page: #fcfcfb; --ink: #1c2024; --soft: #59626c; --line: #dfe2e6;
  --panel: #f2f4f6; --staged: #1f6fb2; --area: #1f6fb226; --failed: #c2341d; --skipped: #9a6700;
  --pending: #b4bcc6; --done: #1a7f4f; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --ink: #e4e7eb; --soft: #9aa4af; --line:
  #30363d; --panel: #1d2228; --staged: #5ea9e8; --area: #5ea9e829; --failed: #f0725c; --skipped:
  #d6a53c; --pending: #56606b; --done: #4cc38a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 28px 20px 56px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 40px 0 10px; }
h3 { font-size: 15px; margin: 0 0 4px; }
p { margin: 6px 0; max-width: 75ch; overflow-wrap: anywhere; }
.soft, .axis { color: var(--soft); }
.state { display: inline-block; padding: 1px 9px; border-radius: 4px; font-weight: 600; font-size:
  13px; border: 1.5px solid currentColor; vertical-align: 5px; margin-left: 8px; white-space: nowrap; }
.state.done { color: var(--done); }
.state.open { color: var(--staged); }
.state.over { color: var(--failed); }
.message { white-space: pre-wrap; border-left: 3px solid var(--failed); padding: 2px 0 2px 12px;
  font-family: ui-monospace, monospace; font-size: 13px; max-width: none; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(132px, 1fr)); margin: 22px 0 18px;
  border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.tiles div { padding: 10px 12px; box-shadow: 0 0 0 .5px var(--line); }
.tiles b { display: block; font-size: 19px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles span { color: var(--soft); font-size: 13px; }
.status { display: flex; height: 14px; border-radius: 4px; overflow: hidden; background: var(--panel);
  gap: 1px; }
.status i { min-width: 3px; }
.key { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 8px 0 0; font-size: 14px; }
.key i { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; }
i.staged { background: var(--staged); }
i.failed { background: var(--failed); }
i.skipped { background: var(--skipped); }
i.pending { background: var(--pending); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(320px, 100%), 1fr)); gap: 24px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 3px 18px; margin: 0; font-size: 14px; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.scroll > svg { min-width: 700px; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 1.5px solid var(--line); }
th, td { padding: 5px 14px 5px 0; vertical-align: top; }
td { border-bottom: 1px solid var(--line); }
td { overflow-wrap: anywhere; white-space: pre-wrap; min-width: 11em; }
td.number { min-width: 0; }
.number { text-align: right; white-space: nowrap; }
.narrow table { width: auto; min-width: 45%; margin-bottom: 18px; }
ol { margin: 4px 0 12px; padding-left: 22px; }
pre { overflow-x: auto; margin: 6px 0 12px; padding: 8px 12px; border-radius: 4px; background: var(--panel);
  font: 13px/1.5 ui-monospace, monospace; }
@media (max-width: 640px) {
  main { padding: 20px 16px 40px; }
  h1 { font-size: 22px; }
  thead { display: none; }
  table, tbody, tr { display: block; }
  tr { border-bottom: 1px solid var(--line); padding: 8px 0; }
  td { display: grid; grid-template-columns: 6.5em 1fr; gap: 0 12px; border: 0; padding: 2px 0;
    min-width: 0; }
  td::before { content: attr(data-head); color: var(--soft); }
  td:empty { display: none; }
  td.number { text-align: left; }
  .narrow table { width: 100%; }
  pre { white-space: pre-wrap; overflow-wrap: anywhere; }
}
summary { cursor: pointer; padding: 3px 0; }
ul { margin: 4px 0 12px; padding-left: 22px; font-size: 14px; }
li { overflow-wrap: anywhere; }
svg { display: block; width: 100%; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); }
svg .axis { fill: var(--soft); }
svg .end { text-anchor: end; }
svg .name { font-weight: 600; }
svg .grid { stroke: var(--line); }
svg .panel { fill: var(--panel); opacity: .45; }
svg .mark { stroke: var(--soft); stroke-dasharray: 2 3; }
svg .bar { fill: var(--staged); }
svg .area { fill: var(--area); }
svg .staged, svg .failed { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .staged { stroke: var(--staged); }
svg .failed { stroke: var(--failed); stroke-dasharray: 5 3; }
footer { margin-top: 48px; font-size: 13px; color: var(--soft); }
"""


class Html(str):
    """A text that is markup already; any other text is escaped when it is put into an element."""

    __slots__ = ()


def join(pieces: Iterable[str | None]) -> Html:
    """Put pieces one after the other; None is left out."""
    return Html("".join(p if isinstance(p, Html) else _escaped(p) for p in pieces if p is not None))


def el(tag: str, /, *children: str | None, **attributes: object) -> Html:
    """Make an element.

    Args:
        tag: Its name.
        children: Texts, which are escaped, and other elements.
        attributes: ``class_`` is ``class``, ``stroke_width`` is ``stroke-width``; None leaves one out.
    """
    rendered = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(_text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if tag in _VOID:
        return Html(f"<{tag}{rendered}>")
    return Html(f"<{tag}{rendered}>{join(children)}</{tag}>")


def table(columns: Sequence[tuple[str, bool]], rows: Iterable[Sequence[str]]) -> Html:
    """Make a table; a column is its head and whether it holds numbers.

    Where the page is narrow, a row is a list of its cells, each with its column's head.
    """
    head = el("tr", *(el("th", name, class_="number" if number else None) for name, number in columns))
    body = [
        el(
            "tr",
            *(
                el("td", cell, class_="number" if number else None, data_head=name)
                for cell, (name, number) in zip(row, columns, strict=True)
            ),
        )
        for row in rows
    ]
    return el("div", el("table", el("thead", head), el("tbody", *body)), class_="scroll")


def commands(lines: Sequence[str]) -> Html | None:
    """Make a block of commands to copy, one on a line; None of none."""
    return el("pre", "\n".join(lines)) if lines else None


def document(title: str, *children: str | None) -> str:
    """Make a page that needs nothing else: no script, no font, no file from anywhere."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("title", title),
        el("style", Html(_STYLE)),
    )
    return Html("<!doctype html>\n") + el("html", head, el("body", el("main", *children)), lang="en") + "\n"


def _escaped(text: str) -> str:
    """Write a text as markup: with what is not seen or acts made visible, but for the ends of lines."""
    return html.escape("\n".join(map(visible, text.split("\n"))))


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)
