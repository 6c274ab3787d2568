"""How a page is split into blocks, and rules that all pages follow."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.blocks import RUN_LANGUAGES, Command, commands_of, read_blocks

ROOT = Path(__file__).parents[3]
OWN = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in OWN), *sorted((ROOT / "docs").rglob("*.md"))]

PAGE = """\
# A page

```console
$ first
its output
$ second \\
    goes on
$ third 'over
two lines'
more
```

<!-- full: it takes long -->
<!-- exit: 1 -->
```python
print(1)
```

<!-- output: shape -->
```
1
```

<!-- run python
hidden = 1
-->
<!-- file: a/b.json -->
```json
{}
```

<!-- not run: because -->
```console
$ never
```

```
a drawing
```
"""


def test_blocks_with_their_marks() -> None:
    blocks = read_blocks(PAGE)
    assert [(block.language, dict(block.marks), block.hidden) for block in blocks] == [
        ("console", {}, False),
        ("python", {"full": "it takes long", "exit": "1"}, False),
        ("", {"output": "shape"}, False),
        ("python", {}, True),
        ("json", {"file": "a/b.json"}, False),
        ("console", {"not run": "because"}, False),
        ("", {}, False),
    ]
    assert [block.is_run for block in blocks] == [True, True, False, True, False, False, False]
    assert [block.is_output for block in blocks] == [False, False, True, False, False, False, False]
    lines = PAGE.splitlines()
    assert [lines[block.line - 1] for block in blocks[:3]] == ["$ first", "print(1)", "1"]


def test_commands_with_their_output() -> None:
    assert commands_of(read_blocks(PAGE)[0]) == [
        Command("first", ("its output",)),
        Command("second \\\n    goes on", ()),
        Command("third 'over\ntwo lines'", ("more",)),
    ]


@pytest.mark.parametrize(
    ("page", "message"),
    [
        ("```console\n$ a\n", "has no ```"),
        ("<!-- run python\nx\n", "has no -->"),
        ("<!-- exit: 1 -->\nText.\n", "no block comes after the marks exit"),
    ],
)
def test_a_page_that_is_cut_short(page: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_blocks(page)


@pytest.mark.parametrize("text", ["output first\n$ a\n", "$ a 'b\n"])
def test_a_console_that_nobody_can_type(text: str) -> None:
    (block,) = read_blocks(f"```console\n{text}```\n")
    with pytest.raises(ValueError, match="line 2"):
        commands_of(block)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_pages_can_be_read(path: Path) -> None:
    for block in read_blocks(path.read_text(encoding="utf-8")):
        assert block.language not in {"bash", "sh", "shell"}, f"line {block.line}: write console"
        for name in ("not run", "full"):
            assert block.marks.get(name, "a reason"), f"line {block.line}: why is it {name}?"
        if block.language == "console":
            commands_of(block)
        assert not block.hidden or block.language in RUN_LANGUAGES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_to_files_and_headings(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text) + re.findall(r'<img src="([^"]+)"', text):
        file, _, heading = target.partition("#")
        linked = path.parent / file if file else path
        assert linked.exists(), target
        assert not heading or heading in _headings(linked), target


def _headings(path: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
