"""Runs the blocks of a page in order, and compares their output with what the page shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.docs.blocks import Block, commands_of, read_blocks
from tests.docs.compare import difference
from tests.docs.place import ROOT, Place
from tests.docs.sessions import SessionError

__all__ = ["PageRun"]


@dataclass
class PageRun:
    """One run of a page.

    Attributes:
        place: Where it is run.
        name: The page's path in the checkout.
        full: Also run blocks marked ``full``.
        differences: What failed, and what differs from the output shown.
        corrected: The corrected text of each block whose output differs, by the number of the block's first
            line.
    """

    place: Place
    name: str
    full: bool
    differences: list[str] = field(default_factory=list)
    corrected: dict[int, str] = field(default_factory=dict)
    _printed: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Run all blocks, even after one has failed."""
        for block in read_blocks((ROOT / self.name).read_text(encoding="utf-8")):
            if "file" in block.marks:
                path = self.place.page_folder(self.name) / self._here(block.marks["file"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self._here(block.text))
            if block.is_run and ("full" not in block.marks or self.full):
                self._run(block)
            elif block.is_output and self._printed:
                self._correct(block, self._checked(block, block.text.splitlines(), self._printed))
            elif not block.hidden:
                self._printed = []
        self.place.done.add(self.name)

    def _run(self, block: Block) -> None:
        text, self._printed = self._here(block.text), []
        if block.language == "json":
            json.loads(text)
        elif block.language == "python":
            where, folder = f"{self.name}:{block.line}", self.place.page_folder(self.name)
            try:
                self._printed = self.place.python.run(text, where, folder)
            except SessionError as error:
                self.differences.append(f"{where}: {error}")
        else:
            self._console(block)

    def _console(self, block: Block) -> None:
        commands, shell = commands_of(block), self.place.shell(self.name)
        lines: list[str] = []
        failed = False
        for command in commands:
            try:
                printed, code = shell.run(self._here(command.text))
            except SessionError as error:
                self.place.end_shell(self.name)
                self.differences.append(f"{self.name}:{block.line}: {error}")
                return
            wanted = int(block.marks.get("exit", "0")) if command is commands[-1] else 0
            if code != wanted:
                failed = True
                said = f"{self.name}:{block.line}: {command.text!r} ended with {code}, expected {wanted}"
                self.differences.append("\n  ".join([said, *printed]))
                continue
            lines += f"$ {command.text}".split("\n")
            # A command may be shown without its output.
            lines += self._checked(block, command.output, printed) if command.output else []
            self._printed = printed
        if not (block.hidden or failed):
            self._correct(block, lines)

    def _checked(self, block: Block, shown: Sequence[str], printed: list[str]) -> list[str]:
        """Compare; returns the lines that the page should show."""
        mode = block.marks.get("output", "")
        if mode.startswith("not compared"):
            return list(shown)
        here = [self._here(line) for line in shown]
        found = difference(here, printed, shape=mode == "shape")
        if found is None:
            return list(shown)
        self.differences.append(f"{self.name}:{block.line}: {found}")
        return [self.place.there(line, self.name) for line in printed]

    def _here(self, text: str) -> str:
        return self.place.here(text, self.name)

    def _correct(self, block: Block, lines: list[str]) -> None:
        if block.text.splitlines() != lines:
            self.corrected[block.line] = "".join(f"{line}\n" for line in lines)
