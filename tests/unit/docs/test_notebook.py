from __future__ import annotations

import json

from tests.docs.blocks import read_blocks
from tests.docs.notebook import NOTEBOOK, PAGE, notebook_text


def test_the_notebook_is_that_of_the_page() -> None:
    written = NOTEBOOK.read_text(encoding="utf-8")
    assert written == notebook_text(), "run 'python -m tests.docs.notebook' and commit it"


def test_its_cells_of_code_are_the_blocks_of_the_page() -> None:
    cells = json.loads(notebook_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    blocks = read_blocks(PAGE.read_text(encoding="utf-8"))
    assert code == [block.text.rstrip("\n") for block in blocks if block.language == "python"]
    text = "".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    assert "pinotctl cluster up" in text
    assert "<!--" not in text
