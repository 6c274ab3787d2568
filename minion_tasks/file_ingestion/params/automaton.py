"""Matches texts in time linear in their length, whatever the pattern.

Patterns come from table configs. Python's ``re`` backtracks: for some patterns the time doubles with each
character of a file's name, and no other thread runs meanwhile. This automaton follows all ways to match at
once. It keeps the sets of places that it has been in, so a usual path costs one look-up per character.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

__all__ = ["MAX_SIZE", "Anchor", "Automaton", "Char", "Choice", "Node", "Repeat", "Series"]

MAX_SIZE = 4096
"""Maximum number of places of an automaton, and of characters of a pattern."""

_MAX_KEPT = 20_000
_END = 0


@dataclass(frozen=True)
class Char:
    """Matches one character.

    Attributes:
        text: A regular expression that matches one character.
        flags: Its flags, beside ``re.DOTALL``.
    """

    text: str
    flags: int = 0


@dataclass(frozen=True)
class Anchor:
    """Matches a position: ``^``, ``$``, ``b`` (the edge of a word) or ``B`` (no edge)."""

    kind: str


@dataclass(frozen=True)
class Series:
    """Matches its parts, one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """Matches one of its options."""

    options: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """Matches its part several times; ``most`` is None for any number."""

    part: Node
    least: int = 0
    most: int | None = None


Node = Char | Anchor | Series | Choice | Repeat


@dataclass(eq=False)
class _State:
    """Where the automaton can be after some text.

    Attributes:
        places: The places, not yet extended by those that need no character.
        before: The last character, as far as anchors ask for it.
        following: The next state by character, as far as it is known.
    """

    places: frozenset[int]
    before: str | None
    following: dict[str, _State] = field(default_factory=dict)


class Automaton:
    """A compiled pattern; thread-safe.

    Args:
        pattern: The pattern.

    Raises:
        ValueError: It has too many places.
    """

    def __init__(self, pattern: Node) -> None:
        self._tests: dict[int, Callable[[str], object]] = {}
        self._anchors: dict[int, str] = {}
        self._next: list[tuple[int, ...]] = [()]
        self._size = 0
        self._first = self._build(pattern, _END)
        self._known: dict[tuple[frozenset[int], str | None], _State] = {}
        self._forget()

    def _build(self, node: Node, then: int) -> int:
        """Add the places of a node before a place; returns the first of them."""
        self._size += 1
        if self._size > MAX_SIZE:
            raise ValueError(f"it has more than {MAX_SIZE:,} parts, counting each repetition")
        if isinstance(node, Char):
            place = self._add(then)
            self._tests[place] = re.compile(node.text, re.DOTALL | node.flags).fullmatch
            return place
        if isinstance(node, Anchor):
            place = self._add(then)
            self._anchors[place] = node.kind
            return place
        if isinstance(node, Series):
            for part in reversed(node.parts):
                then = self._build(part, then)
            return then
        if isinstance(node, Choice):
            return self._add(*(self._build(option, then) for option in node.options))
        return self._repeated(node, then)

    def _repeated(self, node: Repeat, then: int) -> int:
        least = node.least
        if node.most is None:
            loop = self._add()
            first = self._build(node.part, loop)
            self._next[loop] = (first, then)
            then, least = (first, least - 1) if least else (loop, 0)
        else:
            behind = then
            for _ in range(node.most - least):
                then = self._add(self._build(node.part, then), behind)
        for _ in range(least):
            then = self._build(node.part, then)
        return then

    def _add(self, *following: int) -> int:
        self._next.append(following)
        return len(self._next) - 1

    def matches(self, text: str) -> bool:
        """Return whether the whole text matches."""
        state = self._after(text)
        return _END in self._with_skipped(state.places, state.before, None)

    def can_match_below(self, folder: str) -> bool:
        """Return whether the path of a file in a folder can match a glob.

        Args:
            folder: The folder's path, with a slash at its end.
        """
        # The rest of a path contains single slashes, and ends with another character.
        todo = [(place, True) for place in self._after(folder).places]
        reached = set()
        while todo:
            place, after_slash = todo.pop()
            if (place, after_slash) in reached:
                continue
            reached.add((place, after_slash))
            if place == _END and not after_slash:
                return True
            test = self._tests.get(place)
            for following in self._next[place]:
                if test is None:
                    todo.append((following, after_slash))
                    continue
                if not after_slash and test("/"):
                    todo.append((following, True))
                if not test("/") or test("x"):
                    todo.append((following, False))
        return False

    def _after(self, text: str) -> _State:
        state = self._start
        for character in text:
            following = state.following.get(character)
            if following is None:
                following = self._step(state, character)
            state = following
            if not state.places:
                break
        return state

    def _step(self, state: _State, character: str) -> _State:
        if self._kept >= _MAX_KEPT:
            self._forget()
        self._kept += 1
        places = frozenset(
            self._next[place][0]
            for place in self._with_skipped(state.places, state.before, character)
            if place in self._tests and self._tests[place](character)
        )
        before = ("a" if _is_word(character) else ".") if self._anchors else None
        following = self._known.setdefault((places, before), _State(places, before))
        state.following[character] = following
        return following

    def _forget(self) -> None:
        """Start without known states."""
        known, self._known = self._known, {}
        self._start = _State(frozenset((self._first,)), None)
        self._kept = 0
        for state in list(known.values()):
            state.following = {}  # they refer to each other

    def _with_skipped(self, places: Iterable[int], before: str | None, after: str | None) -> set[int]:
        """Add the places that are reached without a further character."""
        reached: set[int] = set()
        todo = list(places)
        while todo:
            place = todo.pop()
            if place in reached:
                continue
            reached.add(place)
            anchor = self._anchors.get(place)
            if place not in self._tests and (anchor is None or _holds(anchor, before, after)):
                todo.extend(self._next[place])
        return reached


def _holds(anchor: str, before: str | None, after: str | None) -> bool:
    """Whether an anchor matches between two characters; None: there is none."""
    if anchor == "^":
        return before is None
    if anchor == "$":
        return after is None
    return (_is_word(before) != _is_word(after)) is (anchor == "b")


def _is_word(character: str | None) -> bool:
    return character is not None and (character.isalnum() or character == "_")
