"""Tokenizes Pinot's SQL by the lexical rules of Pinot 0.11's parser, and quotes names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from controller_client.errors import QueryError

__all__ = ["SqlText", "Token", "TokenKind", "is_whole", "quoted", "statements", "table_names"]


def quoted(name: str) -> str:
    """Quote the name of a table or column."""
    return '"' + name.replace('"', '""') + '"'


class TokenKind(StrEnum):
    """The kind of a token."""

    WORD = "word"
    QUOTED = "quoted identifier"
    STRING = "string"
    NUMBER = "number"
    SIGN = "sign"


@dataclass(frozen=True)
class Token:
    """A token of an SQL text.

    Attributes:
        kind: Its kind.
        text: A word as written; a quoted identifier or a string without quotes; a sign is one character.
        start: Offset of its first character in the text.
        end: Offset after its last character.
        depth: Number of open parentheses around it; a parenthesis has the depth outside of it.
    """

    kind: TokenKind
    text: str
    start: int
    end: int
    depth: int

    def is_word(self, *words: str) -> bool:
        """Whether it is one of these words (in capitals); quoted text is not a word."""
        return self.kind is TokenKind.WORD and self.text.upper() in words

    def is_sign(self, sign: str) -> bool:
        """Whether it is this character."""
        return self.kind is TokenKind.SIGN and self.text == sign

    @property
    def is_name(self) -> bool:
        """Whether it can be a table's name or a part of one."""
        return self.kind in (TokenKind.WORD, TokenKind.QUOTED)


@dataclass(frozen=True)
class SqlText:
    """An SQL text and its tokens, so that it is tokenized only once.

    Attributes:
        text: The text.
        tokens: Its tokens, without comments.
    """

    text: str
    tokens: tuple[Token, ...]

    @classmethod
    def of(cls, sql: str | SqlText) -> SqlText:
        """Tokenize a text; one that is already tokenized is returned unchanged.

        Raises:
            QueryError: A quote or a comment is not closed, or the parentheses do not match.
        """
        return sql if isinstance(sql, SqlText) else cls(sql, tuple(_tokens_of(sql)))


# Comments do not nest; they end at the first "*/" (CalciteSqlParser.removeComments).
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
    for piece in _pieces(sql):
        if piece["blank"] is None:
            depth -= piece["sign"] == ")"
            tokens.append(_token(piece, depth))
            depth += piece["sign"] == "("
        if depth < 0:
            break
    if depth:
        raise QueryError("the parentheses of the SQL do not match")
    return tokens


def _pieces(sql: str) -> Iterator[re.Match[str]]:
    """Split a text into tokens, whitespace and comments.

    Raises:
        QueryError: A quote or a comment is not closed.
    """
    position = 0
    while position < len(sql):
        piece = _TOKEN.match(sql, position)
        if piece is None or (piece["sign"] == "/" and sql.startswith("/*", position)):
            raise QueryError(
                f"the SQL cannot be parsed from {sql[position : position + 40]!r} on",
                expected="quotes and comments to be closed",
            )
        yield piece
        position = piece.end()


def _token(piece: re.Match[str], depth: int) -> Token:
    kind = TokenKind.SIGN if piece["sign"] else _KINDS[str(piece.lastgroup)]
    text = piece.group()
    if kind is TokenKind.STRING:
        text = text[1:-1].replace("''", "'")
    elif kind is TokenKind.QUOTED:
        text = text[1:-1].replace('""', '"')
    return Token(kind, text, piece.start(), piece.end(), depth)


_KINDS = {
    "string": TokenKind.STRING,
    "quoted": TokenKind.QUOTED,
    "word": TokenKind.WORD,
    "number": TokenKind.NUMBER,
}


def table_names(sql: str | SqlText) -> list[str]:
    """Return the names in the positions of tables, after FROM and JOIN, without their databases.

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
    """Split a text at its semicolons, except those in quotes or comments.

    A statement that sets options (``SET timeoutMs = 100;``) stays with the query after it, because Pinot
    takes both in one request.

    Raises:
        QueryError: A quote or a comment is not closed.
    """
    parts: list[str] = []
    begin: int | None = None
    last = 0
    is_setting = at_start = True
    for piece in _pieces(sql):
        if piece["blank"] is not None:
            continue
        if piece["sign"] == ";":
            if begin is not None and not is_setting:
                parts.append(sql[begin:last])
                begin = None
            at_start = True
            continue
        if at_start:
            is_setting = piece.group().upper() == "SET"
            at_start = False
        begin = piece.start() if begin is None else begin
        last = piece.end()
    if begin is not None:
        parts.append(sql[begin:last])
    return parts


def is_whole(sql: str) -> bool:
    """Whether a text ends with a semicolon that is not in quotes or a comment."""
    last = None
    try:
        for piece in _pieces(sql):
            if piece["blank"] is None:
                last = piece
    except QueryError:
        return False
    return last is not None and last["sign"] == ";"
