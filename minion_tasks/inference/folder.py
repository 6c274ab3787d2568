"""Writes a proposal as files that ``pinotctl apply`` takes, with the reason for each guess."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from controller_client.as_code.files import SETTINGS_FILE, FolderSettings, read_folder, write_folder
from controller_client.as_code.objects import Kind, ObjectRef, ref_of
from controller_client.common.text import visible
from controller_client.errors import ConflictError
from minion_tasks.inference.proposal import Proposal

__all__ = ["write_proposal"]

_COLUMN = re.compile(r"  - name: ")


def write_proposal(folder: Path, proposal: Proposal, *, replace: bool = False) -> list[Path]:
    """Write schema and table; returns the files that are new or changed, relative to the folder.

    Args:
        folder: A folder of the cluster as code; created if it does not exist.
        proposal: What to write.
        replace: Replace the present files of schema and table.

    Raises:
        ConflictError: The folder has one of the two already; nothing was written.
        ConfigError: It is no such folder, a file in it cannot be read, or the table's name is no name.
        OSError: A file cannot be written.
    """
    documents = {
        ref_of(kind, document, str(folder)): document
        for kind, document in ((Kind.SCHEMA, proposal.schema), (Kind.TABLE, proposal.table))
    }
    settings, files = FolderSettings(), dict[ObjectRef, str]()
    if any((folder / name).exists() for name in (SETTINGS_FILE, *Kind)):
        present = read_folder(folder)
        settings, files = present.settings, dict(present.files)
    taken = [files[ref] for ref in documents if ref in files]
    if taken and not (replace and all(name.endswith((".yaml", ".yml")) for name in taken)):
        raise ConflictError(
            f"{folder} has {', '.join(taken)} already",
            where=str(folder),
            remedy="remove it, or replace a YAML file with --replace",
        )

    def annotate(ref: ObjectRef, text: str) -> str:
        if ref.kind is Kind.TABLE:
            return "".join(f"# {_sentence(note)}\n" for note in proposal.notes) + text
        reasons = _reasons(proposal)
        lines = text.splitlines(keepends=True)
        return "".join(f"  # {next(reasons)}\n{line}" if _COLUMN.match(line) else line for line in lines)

    return write_folder(folder, settings, documents, files=files, annotate=annotate)


def _reasons(proposal: Proposal) -> Iterator[str]:
    """Yield each column's reason, in the order of the columns in the schema's file."""
    by_name = {guess.name: guess for guess in proposal.columns}
    fields: Mapping[str, list[dict[str, str]]] = proposal.fields
    for guess in (by_name[spec["name"]] for _, specs in sorted(fields.items()) for spec in specs):
        has_some = guess.nulls and guess.nulls < guess.rows
        nulls = f"; {guess.nulls:,} of {guess.rows:,} rows have none" if has_some else ""
        yield _sentence(guess.reason + nulls)


def _sentence(text: str) -> str:
    text = visible(text)
    return f"{text[:1].upper()}{text[1:]}."
