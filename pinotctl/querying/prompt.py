"""The line editor of the shell: multi-line statements, completion, history; needs prompt_toolkit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

from controller_client.common.sql_text import is_whole
from pinotctl.querying.names import Names

__all__ = ["history_path", "is_finished", "make_prompt"]

_WORD = re.compile(r"[\w$.]+$")


def history_path(env: Mapping[str, str]) -> Path:
    """The history file, in the user's state folder."""
    base = env.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "pinotctl" / "query-history"


def make_prompt(names: Names, path: Path) -> PromptSession[str]:
    """Return a prompt.

    Args:
        names: The names to complete.
        path: The history file; if it cannot be written, the history lasts as long as the shell.
    """
    return PromptSession(
        "pinot> ",
        multiline=True,
        prompt_continuation="    -> ",
        history=_history(path),
        completer=ThreadedCompleter(_NameCompleter(names)),
        complete_while_typing=False,
        key_bindings=_bindings(),
        enable_open_in_editor=False,
    )


def is_finished(text: str) -> bool:
    """Whether Enter submits the text: a statement with its semicolon, a helper, or an empty line."""
    return not text.strip() or text.lstrip().startswith("\\") or is_whole(text)


def _history(path: Path) -> History:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Statements may contain what other users must not read.
        os.close(os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    def enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_finished(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.newline(copy_margin=False)

    # During a history search, Enter accepts the match instead.
    bindings.add("enter", filter=Condition(_is_in_statement))(enter)
    return bindings


def _is_in_statement() -> bool:
    from prompt_toolkit.application import get_app
    from prompt_toolkit.enums import DEFAULT_BUFFER

    return get_app().current_buffer.name == DEFAULT_BUFFER


class _NameCompleter(Completer):
    def __init__(self, names: Names) -> None:
        self._names = names

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        found = _WORD.search(document.text_before_cursor)
        word = found[0] if found else ""
        for name in self._names.fitting(word, document.text):
            yield Completion(name, start_position=-len(word))
