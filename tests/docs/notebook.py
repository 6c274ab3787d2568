"""The notebook of docs/notebook.md: ``python -m tests.docs.notebook`` writes it.

Text becomes Markdown cells, Python blocks become code cells. The output of blocks and the figures that they
draw are omitted: a notebook has its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.docs.blocks import Block, read_blocks
from tests.docs.place import ROOT

__all__ = ["NOTEBOOK", "PAGE", "notebook_text"]

PAGE = ROOT / "docs" / "notebook.md"
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"

_FOR_THE_TEST = re.compile(r"<!-- .* -->|!\[.*\]\(images/.*\)")


def notebook_text() -> str:
    """Return the notebook for the current page."""
    cells = list(_cells(PAGE.read_text(encoding="utf-8")))
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    document = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cells(page: str) -> Iterator[dict[str, Any]]:
    lines, begin, number = page.splitlines(), 0, 0
    for block in (*read_blocks(page), None):
        if block and block.language != "python" and not block.is_output:
            continue  # a part of the text
        text = _markdown(lines[begin : block.line - 2 if block else len(lines)])
        for kind, source in (("markdown", text), ("code", _code(block))):
            if source:
                number += 1
                yield _cell(kind, number, source)
        if block:
            begin = block.line + len(block.text.splitlines())


def _markdown(lines: list[str]) -> str:
    kept = "\n".join(line for line in lines if not _FOR_THE_TEST.fullmatch(line)).strip("\n")
    return re.sub(r"\n{3,}", "\n\n", kept)


def _code(block: Block | None) -> str:
    return block.text.rstrip("\n") if block and block.language == "python" else ""


def _cell(kind: str, number: int, source: str) -> dict[str, Any]:
    more: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    text = source.splitlines(keepends=True)
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, **more, "source": text}


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook_text(), encoding="utf-8")
