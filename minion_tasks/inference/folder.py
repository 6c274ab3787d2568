"""Writes a proposal as files that ``pinotctl apply`` takes, with the reason for each guess."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from controller_client.as_code.files import FORMAT, SETTINGS_FILE
from controller_client.as_code.yaml_text import dump_yaml
from controller_client.common.new_file import new_file
from controller_client.errors import ConflictError
from minion_tasks.inference.proposal import Proposal

__all__ = ["proposal_files", "write_proposal"]

_COLUMN = re.compile(r"  - name: ")


def proposal_files(proposal: Proposal) -> Mapping[str, str]:
    """Return the texts of the files, by their paths in the folder."""
    name, table_type = proposal.table["tableName"], proposal.table["tableType"]
    notes = "".join(f"# {_one_line(note)}.\n" for note in proposal.notes)
    reasons = _reasons(proposal)
    schema = "".join(
        f"  # {next(reasons)}.\n{line}" if _COLUMN.match(line) else line
        for line in dump_yaml(dict(proposal.schema)).splitlines(keepends=True)
    )
    return {
        f"schemas/{name}.yaml": schema,
        f"tables/{name}_{table_type}.yaml": notes + dump_yaml(dict(proposal.table)),
    }


def write_proposal(folder: Path, proposal: Proposal, *, replace: bool = False) -> list[Path]:
    """Write the files; returns their paths in the folder.

    Raises:
        ConflictError: One of them is there already; nothing was written.
        OSError: A file cannot be written.
    """
    files = proposal_files(proposal)
    present = [path for path in files if (folder / path).exists()]
    if present and not replace:
        raise ConflictError(
            f"{folder} has {', '.join(present)} already",
            remedy="remove it, or pass --replace",
            where=str(folder),
        )
    if not (folder / SETTINGS_FILE).exists():
        settings = {"format": FORMAT.version, "owner": proposal.table["tableName"]}
        files = {SETTINGS_FILE: dump_yaml(settings), **files}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with new_file(folder / path) as new:
            new.write_text(text, encoding="utf-8")
    return [Path(path) for path in files]


def _reasons(proposal: Proposal) -> Iterator[str]:
    """Yield each column's reason, in the order of the columns in the schema."""
    by_name = {guess.name: guess for guess in proposal.columns}
    for key in ("dimensionFieldSpecs", "metricFieldSpecs", "dateTimeFieldSpecs"):
        for spec in proposal.schema.get(key, ()):
            guess = by_name[spec["name"]]
            nulls = (
                f"; {guess.nulls:,} of {guess.rows:,} rows have none"
                if guess.nulls and guess.distinct
                else ""
            )
            yield _one_line(guess.reason + nulls)


def _one_line(text: str) -> str:
    text = re.sub(r"[^\x20-\x7e\u00a0-\uffff]", " ", text)
    return f"{text[:1].upper()}{text[1:]}"
