"""Pinot's SQL cut into tokens, by the lexical rules of Pinot 0.11's parser; each token knows its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from controller_client.errors import QueryError

__all__ = ["SqlText", "Token", "TokenKind", "is_whole", "statements", "table_names"]


class TokenKind(StrEnum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted identifier"
    STRING = "string"
    NUMBER = "number"
    SIGN = "sign"


@dataclass(frozen=True)
class Token:
    """A piece of the text.

    Attributes:
        kind: What it is.
        text: A word as it is written; a quoted identifier or a string without quotes; a sign is one
            character.
        start: Offset of its first character in the text.
        end: Offset after its last.
        depth: How many parentheses are open around it; both of a pair have the depth of what is outside.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    depth: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words (in capitals); what is quoted is none."""
        return self.kind is TokenKind.WORD and self.text.upper() in words

    def is_sign(self, sign: str) -> bool:
        """Whether it is this character."""
        return self.kind is TokenKind.SIGN and self.text == sign

    @property
    def is_name(self) -> bool:
        """Whether it can be a table's name, or a part of one."""
        return self.kind in (TokenKind.WORD, TokenKind.QUOTED)


@dataclass(frozen=True)
class SqlText:
    """A text and its tokens, so that it is cut once, however much is then read in it.

    Attributes:
        text: The text.
        tokens: Its tokens, comments left out.
    """

    text: str
    tokens: tuple[Token, ...]

    @classmethod
    def of(cls, sql: str | SqlText) -> SqlText:
        """Cut a text into its tokens; one that is cut already stays as it is.

        Raises:
            QueryError: A quote or a comment does not end, or the parentheses do not match.
        """
        return sql if isinstance(sql, SqlText) else cls(sql, tuple(_tokens_of(sql)))


# A comment does not nest, and ends at the first "*/" (CalciteSqlParser.removeComments).
_TOKEN = re.compile(
    r"""
      (?P<blank>\s+ | --[^\n]* | /\*.*?\*/)
    | (?P<string>'(?:[^']|'')*')
    | (?P<quoted>"(?:[^"]|"")*")
    | (?P<word>[^\W\d][\w$]* | \$[\w$]*)
    | (?P<number>\d[\w.]*)
    | (?P<sign>[^\s'"])
    """,
    re.VERBOSE | re.DOTALL,
)


def _tokens_of(sql: str) -> list[Token]:
    tokens: list[Token] = []
    depth = 0
    for found in _pieces(sql):
        if found["blank"] is None:
            depth -= found["sign"] == ")"
            tokens.append(_token(found, depth))
            depth += found["sign"] == "("
        if depth < 0:
            break
    if depth:
        raise QueryError("the parentheses of the SQL do not match")
    return tokens


def _pieces(sql: str) -> Iterator[re.Match[str]]:
    """Cut a text into tokens, blanks and comments.

    Raises:
        QueryError: A quote or a comment does not end.
    """
    place = 0
    while place < len(sql):
        found = _TOKEN.match(sql, place)
        if found is None or (found["sign"] == "/" and sql.startswith("/*", place)):
            raise QueryError(
                f"the SQL cannot be read from {sql[place : place + 40]!r} on", expected="an end of it"
            )
        yield found
        place = found.end()


def _token(found: re.Match[str], depth: int) -> Token:
    kind = TokenKind.SIGN if found["sign"] else _KINDS[str(found.lastgroup)]
    text = found.group()
    if kind is TokenKind.STRING:
        text = text[1:-1].replace("''", "'")
    elif kind is TokenKind.QUOTED:
        text = text[1:-1].replace('""', '"')
    return Token(kind, text, found.start(), found.end(), depth)


_KINDS = {
    "string": TokenKind.STRING,
    "quoted": TokenKind.QUOTED,
    "word": TokenKind.WORD,
    "number": TokenKind.NUMBER,
}


def table_names(sql: str | SqlText) -> list[str]:
    """Return the names that stand where tables do, after FROM and JOIN, without a database before them.

    Raises:
        QueryError: Its quotes or parentheses do not match.
    """
    tokens = SqlText.of(sql).tokens
    names = []
    for number, token in enumerate(tokens):
        if not token.is_word("FROM", "JOIN"):
            continue
        parts = tokens[number + 1 :]
        last = 0
        while len(parts) > last + 2 and parts[last + 1].is_sign(".") and parts[last + 2].is_name:
            last += 2
        if parts and parts[last].is_name:
            names.append(parts[last].text.rpartition(".")[2])
    return list(dict.fromkeys(names))


def statements(sql: str) -> list[str]:
    """Cut a text at its semicolons, without those that are quoted or in comments.

    A statement that sets options (``SET timeoutMs = 100;``) stays with the query that follows it, as Pinot
    takes both in one request.

    Raises:
        QueryError: A quote or a comment does not end.
    """
    found: list[str] = []
    begin: int | None = None
    last = 0
    is_setting = at_start = True
    for piece in _pieces(sql):
        if piece["blank"] is not None:
            continue
        if piece["sign"] == ";":
            if begin is not None and not is_setting:
                found.append(sql[begin:last])
                begin = None
            at_start = True
            continue
        if at_start:
            is_setting = piece.group().upper() == "SET"
            at_start = False
        begin = piece.start() if begin is None else begin
        last = piece.end()
    if begin is not None:
        found.append(sql[begin:last])
    return found


def is_whole(sql: str) -> bool:
    """Whether a text ends with a semicolon that is neither quoted nor in a comment."""
    last = None
    try:
        for piece in _pieces(sql):
            if piece["blank"] is None:
                last = piece
    except QueryError:
        return False
    return last is not None and last["sign"] == ";"
