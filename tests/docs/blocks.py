"""The code blocks of a page, with the marks before them (HTML comments).

``console``, ``python`` and ``json`` blocks are run as written, unless a mark changes that::

    <!-- not run: REASON -->          the block is not run
    <!-- full: REASON -->             it is run with --full only
    <!-- file: PATH -->               it is not run: its text is the content of the file
    <!-- exit: CODE -->               its last command exits with this code, not with 0
    <!-- output: shape -->            numbers of its output are not compared
    <!-- output: not compared: REASON -->
    <!-- output -->                   before a block without a language: the output of the block before it
    <!-- run LANGUAGE                 code that the reader does not see, run here
    CODE
    -->
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

__all__ = ["RUN_LANGUAGES", "Block", "Command", "commands_of", "read_blocks"]

RUN_LANGUAGES = frozenset({"console", "python", "json"})

_MARK = re.compile(r"<!-- (?P<name>not run|full|file|exit|output)(?:: (?P<value>.*?))? -->", re.DOTALL)
_HIDDEN_BEGIN = re.compile(r"<!-- run (?P<language>\w+)")
_FENCE = re.compile(r"(?P<fence>```+)(?P<language>\w*)\s*")


@dataclass(frozen=True)
class Block:
    """One block of code, or of output.

    Attributes:
        line: Number of its first line of text in the page, starting at 1.
        language: The language after the fence; empty if there is none.
        text: Its text, including the last line break.
        marks: Values of the marks before it, by name.
        hidden: Whether it is in a comment.
    """

    line: int
    language: str
    text: str
    marks: Mapping[str, str] = field(default_factory=dict)
    hidden: bool = False

    @property
    def is_run(self) -> bool:
        """Whether it is code to run, at least with ``--full``."""
        return self.language in RUN_LANGUAGES and not self.marks.keys() & {"not run", "file"}

    @property
    def is_output(self) -> bool:
        """Whether it is the output of the block before it."""
        return not self.language and "output" in self.marks


@dataclass(frozen=True)
class Command:
    """One command of a console block and the lines that it prints.

    Attributes:
        text: The command without the prompt; several lines if it is continued.
        output: The lines below it.
    """

    text: str
    output: tuple[str, ...]


def read_blocks(page: str) -> list[Block]:
    """Return the blocks of a page, in their order.

    Raises:
        ValueError: A mark is not followed by a block, or a fence or a hidden block has no end.
    """
    return list(_blocks(page.splitlines()))


def commands_of(block: Block) -> list[Command]:
    """Return the commands of a console block.

    Raises:
        ValueError: It begins with output, without a command that printed it.
    """
    if block.hidden:
        return [Command(block.text.rstrip("\n"), ())]
    found: list[tuple[str, list[str]]] = []
    for line in block.text.splitlines():
        if found and not found[-1][1] and _is_open(found[-1][0]):
            found[-1] = (f"{found[-1][0]}\n{line}", [])
        elif line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        elif not found:
            raise ValueError(f"line {block.line}: a console block begins with a command ('$ ...')")
        else:
            found[-1][1].append(line)
    for command, _ in found:
        if _is_open(command):
            raise ValueError(f"line {block.line}: a quotation has no end: {command}")
    return [Command(command, tuple(output)) for command, output in found]


def _is_open(command: str) -> bool:
    """Whether a command continues on the next line."""
    if command.endswith("\\"):
        return True
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False


def _blocks(lines: list[str]) -> Iterator[Block]:
    marks: dict[str, str] = {}
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        if mark := _MARK.fullmatch(line.strip()):
            marks[mark["name"]] = mark["value"] or ""
        elif hidden := _HIDDEN_BEGIN.fullmatch(line):
            end = _end(lines, number, "-->")
            yield Block(number + 1, hidden["language"], _text(lines[number:end]), hidden=True)
            number = end + 1
        elif fence := _FENCE.fullmatch(line):
            end = _end(lines, number, fence["fence"])
            yield Block(number + 1, fence["language"], _text(lines[number:end]), marks)
            number, marks = end + 1, {}
        elif line.strip() and marks:
            raise ValueError(f"line {number}: no block comes after the marks {', '.join(marks)}")


def _end(lines: list[str], begin: int, end: str) -> int:
    for number in range(begin, len(lines)):
        if lines[number].strip() == end:
            return number
    raise ValueError(f"line {begin}: what begins here has no {end}")


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
